"""The networks, their file, and how they learn; on sizes that take no time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from manipulation_demos import Demos  # noqa: E402
from manipulation_learning import LearningCfg, fit  # noqa: E402

from proctor.errors import InputError  # noqa: E402
from proctor.suites.metaworld.waypoint_flow.cfg import NetCfg, TrunkCfg  # noqa: E402
from proctor.suites.metaworld.waypoint_flow.checkpoint import load_nets, save_nets  # noqa: E402
from proctor.suites.metaworld.waypoint_flow.nets import Nets, way_of  # noqa: E402

TINY = NetCfg(
    image_size=16, tokens=5, vocabulary=30, waypoints=3, chunk=6, denoising_steps=4,
    planner=TrunkCfg(width=16, depth=2, heads=2), expert=TrunkCfg(width=16, depth=1, heads=2),
    denoiser_width=16, denoiser_depth=1,
)  # fmt: skip
ROWS = 8


@pytest.fixture
def nets() -> Nets:
    torch.manual_seed(0)
    return Nets(TINY).eval()


def inputs(seed: int = 0) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    state, start, end = torch.randn(3, ROWS, 4, generator=generator)
    return {
        "image": torch.rand(ROWS, 3, 16, 16, generator=generator),
        "tokens": torch.randint(30, (ROWS, 5), generator=generator),
        "mask": torch.rand(ROWS, 5, generator=generator) < 0.6,
        "state": state,
        "way": way_of(state, start, end, torch.rand(ROWS, generator=generator)),
        "noise": torch.randn(ROWS, 6, 4, generator=generator),
    }


@torch.inference_mode()
def answers(nets: Nets, rows: dict[str, Any]) -> Any:
    """All that the networks say of each row."""
    seen = (rows["image"], rows["tokens"], rows["mask"])
    waypoints, durations = nets.planner(*seen, rows["state"])
    chunk = nets.expert.denoise(rows["noise"], nets.expert.look(*seen, rows["way"]))
    assert waypoints.shape == (ROWS, 3, 4)
    assert chunk.shape == (ROWS, 6, 4)
    return torch.cat([waypoints.flatten(1), durations, chunk.flatten(1)], dim=1)


def test_rows_may_change_places(nets: Nets) -> None:
    rows = inputs()
    order = torch.randperm(ROWS, generator=torch.Generator().manual_seed(1))
    moved = answers(nets, {name: tensor[order] for name, tensor in rows.items()})
    assert torch.equal(moved, answers(nets, rows)[order])


@pytest.mark.parametrize("entry", ["image", "tokens", "state", "way", "noise"])
def test_a_change_in_one_row_changes_that_row_alone(nets: Nets, entry: str) -> None:
    rows = inputs()
    before = answers(nets, rows)
    rows["mask"][3] = True
    changed = {name: tensor.clone() for name, tensor in rows.items()}
    changed[entry][3] = inputs(7)[entry][3]
    after = answers(nets, changed)
    others = torch.arange(ROWS) != 3
    assert torch.equal(after[others], before[others])
    assert not torch.equal(after[3], answers(nets, rows)[3])


def test_words_behind_the_mask_are_not_read(nets: Nets) -> None:
    rows = inputs()
    other = {**rows, "tokens": torch.where(rows["mask"], rows["tokens"], 29 - rows["tokens"])}
    torch.testing.assert_close(answers(nets, other), answers(nets, rows))


def test_a_constant_field_carries_noise_to_its_end(nets: Nets, monkeypatch: pytest.MonkeyPatch) -> None:
    noise, wanted = torch.randn(2, ROWS, 6, 4)
    monkeypatch.setattr(nets.expert, "velocity", lambda actions, time, context: wanted - noise)
    torch.testing.assert_close(nets.expert.denoise(noise, torch.zeros(ROWS, 16)), wanted)


def test_a_file_gives_the_same_networks_back(nets: Nets, tmp_path: Path) -> None:
    nets = nets.half().float()
    save_nets(nets, tmp_path / "nets.safetensors", {"trained": "not at all"})
    read = load_nets(tmp_path / "nets.safetensors")
    assert read.cfg == TINY
    assert torch.equal(answers(read, inputs()), answers(nets, inputs()))


def test_a_file_of_something_else_is_refused(nets: Nets, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    path = tmp_path / "other.safetensors"
    save_file({"weight": torch.zeros(2)}, path, {"format": "pt"})
    with pytest.raises(InputError, match=r'no "waypoint_flow" in its header \(found: format\).*policy: torch'):
        load_nets(path)
    save_file({"weight": torch.zeros(2)}, path, {"waypoint_flow": TINY.model_dump_json()})
    with pytest.raises(InputError, match="checkpoint of another architecture than Nets: missing: planner"):
        load_nets(path)
    unknown = json.dumps({**TINY.model_dump(), "chunk": 0})
    save_file({"weight": torch.zeros(2)}, path, {"waypoint_flow": unknown})
    with pytest.raises(InputError, match=r"header is not understood: chunk: Input should be greater"):
        load_nets(path)
    path.write_bytes(b"no tensors")
    with pytest.raises(InputError, match="cannot be read as safetensors"):
        load_nets(path)


def test_heads_share_the_width() -> None:
    with pytest.raises(ValueError, match="width 18 is not divided by heads 4"):
        TrunkCfg(width=18, heads=4)


def pointing(demos: int = 12, steps: int = 12) -> Demos:
    """Demonstrations that go right where the image is bright, left where it is dark; images of the first step."""
    side = np.where(np.arange(demos) % 2, 1.0, -1.0)
    along = side[:, None, None] * np.linspace(0, 0.1, steps + 1)[:, None] * np.array([1.0, 0, 0, 0])
    image = np.where(side > 0, 250, 5).astype(np.uint8)
    return Demos(
        image=np.broadcast_to(image[:, None, None, None], (demos, 16, 16, 3)), frame_demo=np.arange(demos),
        frame_step=np.zeros(demos, int), task=np.zeros(demos, int), length=np.full(demos, steps),
        states=along.reshape(-1, 4) + np.array([0, 0.6, 0.2, 1.0]),
        actions=np.repeat(side[:, None] * [0.8, 0, 0, 0], steps, axis=0).astype(np.float32),
        instructions=np.array(["go there"]),
    )  # fmt: skip


def test_what_is_shown_is_learned() -> None:
    said: list[str] = []
    cfg = LearningCfg(steps=160, batch=16, rate=3e-3, warm_up=10, average=0.9, held_out=0.2)
    nets = fit(pointing(), TINY, cfg, "cpu", said.append)
    first, last = (float(line.split("planner ")[1].split(",")[0]) for line in (said[0], said[-1]))
    assert last < 0.25 * first
    assert len(said) == 12
    image = torch.tensor([250.0, 5.0]).view(2, 1, 1, 1).expand(2, 3, 16, 16) / 255
    told = (torch.ones(2, 5, dtype=torch.long), torch.ones(2, 5, dtype=torch.bool))
    with torch.inference_mode():
        waypoints, durations = nets.planner(image, *told, torch.tensor([[0.0, 0, 0, 1]] * 2))
    assert waypoints[0, 0, 0] - waypoints[1, 0, 0] > 0.15
    assert (durations[:, 0] * TINY.chunk).round().tolist() == [6, 6]


def test_a_seed_gives_the_same_weights() -> None:
    cfg = LearningCfg(steps=3, batch=8)
    first, second = (fit(pointing(), TINY, cfg, "cpu", lambda line: None) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
