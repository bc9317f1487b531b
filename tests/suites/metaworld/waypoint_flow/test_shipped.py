"""The checkpoint that is shipped, the example that examines it, and the script that made it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examining import digests

pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("metaworld")

from proctor import Run, config_from_dict, load_config, run_evaluation
from proctor.config.models import EvalConfig
from proctor.suites.metaworld.waypoint_flow.cfg import word_tokens
from proctor.suites.metaworld.waypoint_flow.checkpoint import load_nets

EXAMPLES = Path(__file__).parents[4] / "examples"
CHECKPOINT = EXAMPLES / "checkpoints" / "manipulation.safetensors"


def examination(folder: Path, num_parallel: int) -> EvalConfig:
    """The reference policy alone, on an easy task."""
    easy = ["tasks.0.options.task=drawer-close", "n_trials=2", "max_episode_steps=90", f"num_parallel={num_parallel}"]
    where = ["workers=inline", "record=series", f"output_root={folder}"]
    cfg = load_config(EXAMPLES / "manipulation.yml", [*easy, *where])
    return cfg.model_copy(update={"agents": tuple(a for a in cfg.agents if a.name == "reference")})


def run(folder: Path, num_parallel: int) -> Run:
    return run_evaluation(examination(folder, num_parallel))


@pytest.fixture
def script() -> Any:
    import train_manipulation  # pyright: ignore[reportMissingImports]

    return train_manipulation


def test_the_checkpoint_is_small_and_reads_every_instruction(script: Any) -> None:
    from proctor.suites.metaworld.tasks import INSTRUCTIONS

    assert CHECKPOINT.stat().st_size < 6_000_000
    cfg = load_nets(CHECKPOINT).cfg
    assert cfg.image_size == script.SIZE
    told = [tuple(word_tokens(text, cfg.vocabulary)) for text in INSTRUCTIONS.values()]
    assert max(map(len, told)) <= cfg.tokens
    trained = [tuple(word_tokens(INSTRUCTIONS[task], cfg.vocabulary)) for task in script.TASKS]
    assert len(set(trained)) == len(script.TASKS)


def test_the_example_examines_all_that_was_trained(script: Any) -> None:
    assert [task.name for task in load_config(EXAMPLES / "manipulation.yml").tasks] == list(script.TASKS)


def test_trials_come_out_alike_alone_and_together_and_some_succeed(tmp_path: Path) -> None:
    together, alone = run(tmp_path / "8", 8), run(tmp_path / "1", 1)
    assert digests(together) == digests(alone)
    assert any(result.outcome == "success" for result in together.results())


def test_served_and_examined_through_remote_it_has_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("websockets")
    pytest.importorskip("msgpack")
    from served import in_background

    from proctor.network.front import FrontCfg
    from proctor.network.offer import Offer, ServeCfg

    at_home, cfg = run(tmp_path / "home", 2), examination(tmp_path / "away", 2)
    offer = Offer(cfg, ServeCfg(front=FrontCfg(port=0)))
    try:
        with in_background(offer.serve) as url:
            remote = {"name": "reference", "policy": "remote", "options": {"url": url}}
            away = run_evaluation(config_from_dict({**cfg.model_dump(mode="json"), "agents": [remote]}))
    finally:
        offer.close()
    assert digests(away) == digests(at_home)


def test_what_is_collected_is_what_the_suite_shows(script: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from proctor.suites.metaworld.env import MetaworldEnv
    from proctor.suites.metaworld.suite import MetaworldOptions

    monkeypatch.setattr(script, "TASKS", ("drawer-close-v3",))
    stage = script.Stage("drawer-close-v3", 1)
    seen = {"observation": "images", "cameras": [script.CAMERA], "image_height": script.SIZE, "image_width": 64}
    same = {"task": "drawer-close-v3", "variations": 1, "variation_seed": script.VARIATION_SEED}
    env = MetaworldEnv(MetaworldOptions.model_validate({**same, **seen}))
    shown = env.reset(0, 0)
    stage.env.reset(0, 0)
    np.testing.assert_array_equal(stage.env.render(), shown[f"image/{script.CAMERA}"])
    demos = script.collect(1, seed=3)
    assert demos.instructions.tolist() == ["close the drawer"]
    assert demos.image.shape[1:] == (64, 64, 3)
    assert len(demos.states) == len(demos.actions) + 1 == demos.length[0] + 1
    assert (demos.frame_step < demos.length[0]).all()
