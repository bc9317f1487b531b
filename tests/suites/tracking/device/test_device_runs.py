"""Worlds on a device in a run: in this interpreter and in another one, where the same trials give the same records."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from examining import by_key, digests
from pydantic import ValidationError
from tracking_worlds import options

from proctor import run_evaluation
from proctor.config import config_from_dict
from proctor.errors import InputError
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.suite import make

HERE = all(importlib.util.find_spec(name) for name in ("torch", "mujoco_warp", "warp"))
REASON = "worlds on a device need torch, MuJoCo Warp and Warp: make warp has them"


def run(folder: Path, name: str, *, runtime: dict[str, Any] | None = None, n: int = 4, **keys: Any) -> Any:
    task = {
        "suite": "tracking",
        "runtime": runtime,
        "options": {
            "motions": ["procedural:wave", "procedural:bow"],
            "max_episode_length_s": 0.2,
            "physics": "warp",
            "noise": {"joint_pos": 0.01},
            "n_episodes_per_motion": 2,
        },
    }
    cfg = {"name": name, "agents": [{"policy": "tracking/mirror"}], "tasks": [task], "num_parallel": n, **keys}
    return run_evaluation(config_from_dict({**cfg, "output_root": str(folder)}, folder))


@pytest.mark.skipif(not HERE, reason=REASON)
@pytest.mark.timeout(600)
def test_a_run_is_the_same_here_and_in_a_runtime_and_with_other_numbers_of_worlds(tmp_path):
    here = run(tmp_path, "here", workers="inline")
    assert len(digests(here)) == 4
    assert {result.case for result in by_key(here).values()} == {"wave", "bow"}
    assert digests(run(tmp_path, "there", runtime={"python": sys.executable})) == digests(here)
    assert digests(run(tmp_path, "few", n=1, workers="inline")) == digests(here)


@pytest.mark.skipif(HERE, reason="this interpreter has what worlds on a device need")
@pytest.mark.parametrize(("physics", "package"), [("warp", "mujoco-warp==3.17.0"), ("mjx", "mujoco-mjx==3.17.0")])
def test_what_is_missing_is_said_with_the_command(physics, package):
    pytest.importorskip("torch")
    with pytest.raises(InputError) as error:
        make(options(motions="procedural:bow", physics=physics), render=False, worlds=1)
    assert str(error.value).startswith(f"physics: {physics} needs the package ")
    assert package in str(error.value)
    assert f"proctor runtimes install tracking-{physics}" in str(error.value)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"device": "cuda"}, "device is for worlds on a device; say physics: warp"),
        ({"contacts": 10}, "contacts is for worlds on a device"),
        ({"constraints": 10}, "constraints is for worlds on a device"),
        ({"physics": "gpu"}, "'cpu', 'warp' or 'mjx'"),
        ({"physics": "warp", "device": "cuda:x"}, "String should match pattern"),
    ],
)
def test_wrong_options_are_refused(keys, message):
    with pytest.raises(ValidationError, match=message):
        TrackingOptions(motions=["procedural:bow"], **keys)


@pytest.mark.skipif(not HERE, reason=REASON)
def test_a_gpu_that_is_not_there_is_said():
    torch: Any = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(InputError, match="device: cuda: torch finds no GPU here; use device: cpu"):
        make(options(motions="procedural:bow", physics="warp", device="cuda"), render=False, worlds=1)


@pytest.mark.skipif(not HERE, reason=REASON)
def test_noise_without_room_is_refused_by_its_name(monkeypatch):
    from proctor.suites.tracking.device import drawing

    monkeypatch.setattr(drawing, "MOST_NOISE_BYTES", 1000)
    with pytest.raises(InputError, match=r"noise: the sensor noise of 2 worlds .* use fewer worlds"):
        make(options(motions="procedural:bow", physics="warp", noise={"gravity": 0.1}), render=False, worlds=2)
