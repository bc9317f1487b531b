"""The policy in the engine, and the loader's refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from camera_rooms import CameraRoom
from examining import digests, examination
from gymnasium import spaces

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from proctor import config_from_dict, run_evaluation  # noqa: E402
from proctor.config.models import AgentCfg  # noqa: E402
from proctor.errors import InputError  # noqa: E402
from proctor.policies import load_policy  # noqa: E402
from proctor.policies.protocol import SpaceInfo  # noqa: E402
from proctor.policies.rows import row_dependence, sample_batch  # noqa: E402
from proctor.suites.metaworld.waypoint_flow.cfg import NetCfg, TrunkCfg  # noqa: E402
from proctor.suites.metaworld.waypoint_flow.checkpoint import save_nets  # noqa: E402
from proctor.suites.metaworld.waypoint_flow.nets import Nets, Replayed  # noqa: E402
from proctor_host.trials import Trial  # noqa: E402

SMALL = NetCfg(
    planner=TrunkCfg(width=32, depth=1), expert=TrunkCfg(width=32, depth=1), denoiser_width=32, denoiser_depth=1
)
INSTRUCTIONS = {"room": "move the hand to the goal", "other room": "open the door"}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("nets") / "small.safetensors"
    save_nets(Nets(SMALL), path, {})
    return path


def agent(checkpoint: Path, **options: Any) -> dict[str, Any]:
    return {
        "name": "flow", "policy": "waypoint_flow", "checkpoint": str(checkpoint),
        "options": {"instructions": INSTRUCTIONS, "pad_to": 8, **options},
    }  # fmt: skip


def rooms(*names: str) -> list[dict[str, Any]]:
    return [{"suite": "gymnasium", "name": n, "options": {"id": "camera_rooms:CameraRoom-v0"}} for n in names]


def run(folder: Path, agents: list[dict[str, Any]], **keys: Any) -> dict[str, str | None]:
    raw = examination(folder, agents=agents, tasks=rooms("room", "other room"), n_trials=8, **keys)
    run = run_evaluation(config_from_dict(raw))
    assert all(not result.outcome.broken_by_policy for result in run.results())
    return digests(run)


def test_the_parallel_run_is_the_serial_run(checkpoint: Path, tmp_path: Path) -> None:
    serial = run(tmp_path / "1", [agent(checkpoint)], num_parallel=1)
    assert run(tmp_path / "16", [agent(checkpoint)], num_parallel=16) == serial
    split = agent(checkpoint, stages={"plan": {"max_batch": 2}, "act": {"max_batch": 3}})
    assert run(tmp_path / "split", [split], num_parallel=16) == serial
    assert len(set(serial.values())) == 16


def info(**entries: Any) -> SpaceInfo:
    room = CameraRoom()
    seen = dict(room.observation_space.spaces) | entries
    shown = spaces.Dict({name: space for name, space in seen.items() if space is not None})
    return SpaceInfo({"room": shown}, {"room": room.action_space})


@pytest.mark.parametrize("stage", ["plan", "act"])
def test_rows_do_not_depend_on_each_other(checkpoint: Path, stage: str) -> None:
    policy: Any = load_policy(AgentCfg.model_validate(agent(checkpoint)), info())
    policy.stages = tuple(sorted(policy.stages, key=lambda declared: declared.name != stage))
    trials = [Trial("flow", "room", index, index) for index in range(8)]
    batch = sample_batch(policy, info().observation["room"], trials)
    batch.state["left"][:], batch.state["waypoints"][:] = 5, 0.3
    assert row_dependence(policy, batch) is None


def test_on_a_processor_a_forward_is_called_as_it_is() -> None:
    calls: list[Any] = []
    replayed = Replayed(lambda x, y: calls.append(x) or (x + y, x - y))
    added, taken = replayed(torch.ones(2), torch.full((2,), 3.0))
    assert (added.tolist(), taken.tolist(), len(calls)) == ([4, 4], [-2, -2], 1)


IMAGE = spaces.Box(0, 255, (64, 64, 3), np.uint8)


@pytest.mark.parametrize(
    ("entries", "options", "complaint"),
    [
        ({"image/corner3": None}, {}, r"observed as state \(4,\); expected one image \(64, 64, 3\) of bytes"),
        ({"image/wrist": IMAGE}, {}, r"expected one image .*choose with options.image"),
        ({}, {"image": "image/wrist"}, "expected one image"),
        ({"image/corner3": spaces.Box(0, 255, (32, 32, 3), np.uint8)}, {}, "set the task's camera and image size"),
        ({"state": None}, {}, 'expected an entry "state" that begins with end effector'),
        ({}, {"waypoints": 5}, "options.waypoints is 5; the checkpoint plans 4"),
        ({}, {"instructions": {}}, 'task "room" says no instruction; tell the policy what to do with options.instruc'),
        ({}, {"instructions": {"room": "go " * 13}}, "has 13 words; the checkpoint reads 12. Shorten it"),
    ],
)
def test_a_task_that_does_not_fit_is_refused(
    checkpoint: Path, entries: dict[str, Any], options: dict[str, Any], complaint: str
) -> None:
    cfg = AgentCfg.model_validate(agent(checkpoint, **options))
    with pytest.raises(InputError, match=complaint):
        load_policy(cfg, info(**entries))


def test_one_of_two_cameras_is_chosen(checkpoint: Path) -> None:
    cfg = AgentCfg.model_validate(agent(checkpoint, image="image/wrist"))
    policy: Any = load_policy(cfg, info(**{"image/wrist": IMAGE}))
    assert policy.senses.image == "image/wrist"


def test_other_actions_are_refused(checkpoint: Path) -> None:
    told = info()
    told.action["room"] = spaces.Box(-1, 1, (7,))
    with pytest.raises(InputError, match=r'task "room" takes actions \(7,\); the checkpoint gives \(4,\)'):
        load_policy(AgentCfg.model_validate(agent(checkpoint)), told)


def test_the_loader_needs_a_checkpoint() -> None:
    with pytest.raises(InputError, match='agent "flow": the waypoint_flow loader needs a checkpoint'):
        load_policy(AgentCfg(name="flow", policy="waypoint_flow"), info())
