"""A catheter over a wire as an environment: eve_bench's DualDeviceNav on the embedded simulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor import ConfigError, config_from_dict, run_evaluation
from proctor.errors import InputError
from proctor.suites.endovascular.as_steve import AsSteve
from proctor.suites.endovascular.checkpoints import embedded_options
from proctor.suites.endovascular.options import EndovascularOptions
from proctor.suites.endovascular.suite import EndovascularSuite
from proctor.suites.endovascular.two_devices import TwoDeviceEnv
from proctor.testing import EnvConformance

ENTRIES = ["tracking", "target", "last_action", "rotation", "inserted_lengths"]
PAIR = {"tool": "mic_guide", "catheter": "mic_cath"}
CATHETER = {"radius_mm": 0.8, "shaft_bending": 400, "shaft_torsion": 300, "tip_bending": 60, "tip_torsion": 50,
            "curve_radius_mm": 12, "curve_length_mm": 13}  # fmt: skip
STIFF = {"tool": "angled_standard", "catheter": CATHETER}


def make(**options: Any) -> AsSteve:
    env = EndovascularSuite().make(EndovascularOptions.model_validate(options), render=False, worlds=1)
    assert isinstance(env, AsSteve)
    assert isinstance(env._env, TwoDeviceEnv)
    return env


def lines(folder: Path) -> Path:
    """Centrelines under the names of DualDeviceNav's, in its axes: a trunk from the entry and four branches."""
    folder.mkdir()
    trunk = [(-35.0, 65.0, 5.0), (-135.0, 65.0, 5.0)]
    ends = {"LCCA": (-180.0, 95.0, 5.0), "LVA": (-180.0, 65.0, 30.0), "RCCA": (-180.0, 35.0, 5.0),
            "RVA": (-180.0, 65.0, -20.0)}  # fmt: skip
    ways = {"(0)": trunk, **{f"- {name}": [trunk[1], end] for name, end in ends.items()}}
    for name, (start, end) in ways.items():
        points = np.linspace(start, end, 40).tolist()
        curve = {"type": "Curve", "controlPoints": [{"position": point} for point in points],
                 "measurements": [{"name": "Radius", "controlPointValues": [5.0] * 40}]}  # fmt: skip
        (folder / f"Centerline curve {name}.mrk.json").write_text(json.dumps({"markups": [curve]}))
    return folder


class TestConformance(EnvConformance):
    steps = 8

    def make(self) -> AsSteve:
        return make(**PAIR, observed=ENTRIES)


def test_dual_device_nav_runs_by_name(tmp_path: Path) -> None:
    """eve_bench's devices, targets, friction and picture, once its centrelines are there."""
    options = {"benchmark": "DualDeviceNav", "anatomy": {"centerlines_folder": str(lines(tmp_path / "lines"))}}
    raw = {
        "agents": [{"name": "drunk", "policy": "random"}], "tasks": [{"suite": "endovascular", "options": options}],
        "n_trials": 3, "max_episode_steps": 12, "workers": "inline", "output_root": str(tmp_path),
    }  # fmt: skip
    config = config_from_dict(raw)
    found = config.tasks[0].options
    assert (found["tool"], found["catheter"], found["observation"]) == ("mic_guide", "mic_cath", "steve")
    assert (found["anatomy"]["friction"], found["anatomy"]["image_rot_zx_deg"]) == (0.001, [20.0, 5.0])
    run = run_evaluation(config)
    assert run.path.name
    for result in run.results():
        assert result.error is None
        with np.load(run.path / result.npz) as arrays:
            assert arrays["inserted_lengths"].shape == arrays["rotations"].shape == (12, 2)
            np.testing.assert_array_equal(arrays["inserted_lengths"][:, 0], arrays["inserted_length"])
            assert str(arrays["tool"]) == "mic_guide+mic_cath"
            assert str(arrays["case"]).startswith("Centerline curve - ")


def test_actions_and_observations_have_a_row_for_each_device() -> None:
    env = make(**PAIR, observed=ENTRIES)
    first = env.reset(3, 0)
    assert {key: value.shape for key, value in first.items()} == {
        "tracking": (2, 3, 2), "target": (2,), "last_action": (2, 2), "rotation": (2, 2), "inserted_lengths": (2,)
    }  # fmt: skip
    assert first["inserted_lengths"] == pytest.approx([2 * 25.2 / 900 - 1, -1.0], abs=1e-5)
    assert env.action_space.shape == (4,)
    step = env.step(np.array([0.5, -0.25, 0.2, 1.0], np.float32))
    assert step.signals["inserted_lengths"] == pytest.approx([25.2 + 17.5 / 7.5, 7.0 / 7.5], abs=0.01)
    np.testing.assert_allclose(step.observation["last_action"], [[0.5, -0.25], [0.2, 1.0]], rtol=1e-6)
    angles = step.signals["rotations"]
    np.testing.assert_allclose(
        step.observation["rotation"], np.stack([np.sin(angles), np.cos(angles)], axis=1), rtol=1e-6
    )
    before = np.arctan2(*first["rotation"].T)
    assert (angles - before + np.pi) % (2 * np.pi) - np.pi == pytest.approx([-0.25 * 3.14 / 7.5, 3.14 / 7.5], abs=1e-5)


def test_a_trial_begins_as_with_the_wire_alone() -> None:
    """The seed draws the catheter's angle besides; target and wire are those of the task without a catheter."""
    env, single = make(**STIFF), EndovascularSuite().make(
        EndovascularOptions(tool="angled_standard", observation="steve"), render=False, worlds=1
    )  # fmt: skip
    angles = []
    for seed in (1, 2):
        both, one = env.reset(seed, 0), single.reset(seed, 0)
        for name in ("tracking", "target"):
            np.testing.assert_array_equal(both[name], one[name])
        angles.append(env._env.wire.angles[1])
        step, other = env.step(np.array([0.9, 0.3, 0, 0.5])), single.step(np.array([0.9, 0.3]))
        assert step.signals["tip_pos3d"].tobytes() == other.signals["tip_pos3d"].tobytes()
    assert angles[0] != angles[1]


def test_at_the_end_of_a_vessel_the_one_behind_comes_up_to_the_one_ahead() -> None:
    env = make(**STIFF, anatomy={"target_branches": ["lsa"], "seed": 1, "arch_type": "I"})
    inner = env._env
    env.reset(0, 0)
    inner._scene.way.dead_end[:] = True
    for _ in range(40):
        lengths = env.step(np.array([1.0, 0.0, 0.5, 0.0], np.float32)).signals["inserted_lengths"]
    assert lengths[0] == pytest.approx(23.0, abs=0.05)
    assert 23.0 - 0.5 * 35 / 7.5 < lengths[1] <= lengths[0]
    back = env.step(np.array([-0.5, 0.0, -1.0, 0.0], np.float32)).signals["inserted_lengths"]
    assert back[1] == pytest.approx(lengths[1] - 35 / 7.5, abs=0.05)


def test_a_catheter_is_drawn_thicker_than_its_wire() -> None:
    env = make(**STIFF, anatomy={"seed": 1})
    env.reset(0, 0)
    dark = [int((env.render().min(axis=2) < 60).sum())]
    assert env._env.wire.bare == env._env.wire.free
    for commands in ([1.0, 0, 0, 0], [0, 0, 1.0, 0]):
        for _ in range(4):
            env.step(np.array(commands, np.float32))
        dark.append(int((env.render().min(axis=2) < 60).sum()))
    assert env._env.wire.bare < env._env.wire.free
    assert dark[0] < dark[1] < dark[2]


def tips(**options: Any) -> np.ndarray:
    """(n, 3) under commands that bring the catheter over the wire and beyond it."""
    env = make(**STIFF, anatomy={"seed": 1}, **options)
    rng, found, command = np.random.default_rng(3), [], np.zeros(4, np.float32)
    env.reset(3, 0)
    for step in range(45):
        if step % 8 == 0:
            command = rng.uniform([0.1, -0.6, 0.3, -0.6], [0.6, 0.6, 1.0, 0.6]).astype(np.float32)
        found.append(env.step(command).signals["tip_pos3d"])
    assert env._env.wire.lengths[1] > env._env.wire.lengths[0] > 60
    return np.array(found)


def test_the_tip_does_not_depend_on_the_spacing() -> None:
    coarse, usual, finest = (tips(spacing_mm=s, tip_spacing_mm=t) for s, t in ((4.0, 4.0), (2.0, 1.0), (0.5, 0.5)))
    errors = [float(np.median(np.linalg.norm(found - finest, axis=1))) for found in (coarse, usual)]
    assert errors[1] < 0.05
    assert errors[1] < 0.4 * errors[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({**PAIR, "observation": "plain"}, "a catheter needs observation: steve"),
        ({"tool": "mic_guide", "catheter": "mic_kath"}, 'unknown tool "mic_kath"'),
        ({"tool": "micro", "catheter": "simmons"}, "the catheter is bent by 205 degrees: it comes out of the entry"),
        ({"tool": "standard_j", "catheter": "mic_cath"}, "the catheter's radius (0.35 mm) must be larger than that of"),
    ],
)
def test_pairs_that_are_none(options: dict[str, Any], message: str) -> None:
    raw = {"agents": [{"policy": "random"}], "tasks": [{"suite": "endovascular", "options": options}]}
    with pytest.raises(ConfigError) as error:
        config_from_dict(raw)
    assert message in str(error.value)


def test_a_checkpoints_second_device_is_its_catheter() -> None:
    import everl_files

    environment = everl_files.environment()
    wire = environment["intervention"]["devices"][0]
    thick = {**wire, "name": "outer", "straight_outer_diameter": 1.4, "straight_inner_diameter": 1.0}
    environment["intervention"]["devices"] = [wire, thick]
    found = embedded_options(environment, "x.everl")
    assert (found["tool"]["radius_mm"], found["catheter"]["radius_mm"]) == (0.445, 0.7)
    assert EndovascularOptions.model_validate(found).observation == "steve"
    environment["intervention"]["devices"] = [wire, {**thick, "velocity_limit": [1.0, 1.0]}]
    with pytest.raises(InputError, match="different velocity limits"):
        embedded_options(environment, "x.everl")
    environment["intervention"]["devices"] = [wire] * 3
    with pytest.raises(InputError, match="has 3 devices, and the embedded simulator one or two"):
        embedded_options(environment, "x.everl")
