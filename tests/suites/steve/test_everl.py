"""An agent of eve_rl from its checkpoint alone, on either simulator, in the environment that it was trained in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import everl_files
import numpy as np
import pytest
import steve_double

from proctor import ConfigError, config_from_dict, run_evaluation
from proctor.errors import InputError
from proctor.suites.endovascular.as_steve import AsSteve, spread
from proctor.suites.endovascular.options import EndovascularOptions
from proctor.suites.endovascular.suite import EndovascularSuite
from proctor.testing import EnvConformance

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")


def embedded(**options: Any) -> AsSteve:
    env = EndovascularSuite().make(
        EndovascularOptions.model_validate({"observation": "steve", **options}), render=False, worlds=1
    )
    assert isinstance(env, AsSteve)
    return env


def config(folder: Path, file: Path, suite: str, agent: dict[str, Any] | None = None, **options: Any) -> Any:
    task = {"suite": suite, "options": {"environment_file": str(file), **options}}
    raw = {
        "agents": [{"name": "sac", "checkpoint": str(file), **(agent or {})}], "tasks": [task], "n_trials": 2,
        "max_episode_steps": 4, "workers": "inline", "output_root": str(folder), "record": {"observations": True},
    }  # fmt: skip
    return config_from_dict(raw)


class TestConformance(EnvConformance):
    steps = 8

    def make(self) -> AsSteve:
        return embedded(observed=["tracking", "target", "last_action", "rotation", "inserted_lengths"])


def test_the_embedded_observation_is_steves_by_hand() -> None:
    env = embedded(observed=["rotation", "tracking", "inserted_lengths", "last_action", "target"], tracking_memory=3)
    first = env.reset(2, 0)
    assert list(first) == ["rotation", "tracking", "inserted_lengths", "last_action", "target"]
    assert {key: value.shape for key, value in first.items()} == {
        "rotation": (1, 2), "tracking": (3, 3, 2), "inserted_lengths": (1,), "last_action": (1, 2), "target": (2,)
    }  # fmt: skip
    np.testing.assert_array_equal(first["tracking"][1:], first["tracking"][[0, 0]])
    step = env.step(np.array([0.5, -0.25], np.float32))
    inner, seen = env._env, step.observation
    lines = inner.carm.project(inner.tree.points())
    low, high = lines.min(axis=0), lines.max(axis=0)
    low, high = low - 0.1 * abs(low), high + 0.1 * abs(high)
    tip = inner.carm.project(inner.wire.points[0])
    np.testing.assert_allclose(seen["tracking"][0, 0], 2 * (tip - low) / (high - low) - 1, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(seen["tracking"][1], first["tracking"][0])
    np.testing.assert_array_equal(seen["last_action"], [[0.5, -0.25]])
    goal = step.signals["inserted_length"] / 450
    assert seen["inserted_lengths"] == pytest.approx([2 * goal - 1], rel=1e-5)
    assert step.signals["inserted_length"] == pytest.approx(23 + 0.5 * 35 / 7.5, abs=0.01)


def test_points_are_spread_in_the_picture_and_the_last_one_repeats() -> None:
    line = np.array([[0.0, 0], [3, 0], [3, 2.5]])
    np.testing.assert_allclose(spread(line, 5, 2.0), [[0, 0], [2, 0], [3, 1], [3, 1], [3, 1]])


def test_velocities_stay_velocities() -> None:
    scaled, plain = embedded(), embedded(normalize_action=False)
    assert plain.action_space.high.tolist() == pytest.approx([35.0, 3.14])
    for env, action in ((scaled, [0.4, 0.5]), (plain, [14.0, 1.57])):
        env.reset(1, 0)
        seen = env.step(np.array(action, np.float32))
        np.testing.assert_allclose(seen.observation["last_action"], [[0.4, 0.5]], rtol=1e-6)
        assert seen.signals["inserted_length"] == pytest.approx(23 + 14 / 7.5, abs=0.01)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"normalize_action": True}, "normalize_action needs observation: steve"),
        ({"observation": "steve", "privileged": True}, "privileged needs observation: plain"),
    ],
)
def test_views_are_not_mixed(options: dict[str, Any], message: str) -> None:
    raw = {"agents": [{"policy": "random"}], "tasks": [{"suite": "endovascular", "options": options}]}
    with pytest.raises(ConfigError, match=message):
        config_from_dict(raw)


@pytest.mark.parametrize("head", ["Dummy", "LSTM"])
def test_an_agent_comes_from_its_checkpoint_alone(tmp_path: Path, head: str) -> None:
    """The task is the checkpoint's, as near as the embedded simulator can; the actions are the network's by hand."""
    file = everl_files.checkpoint(tmp_path, head)
    found = config(tmp_path, file, "endovascular")
    options = found.tasks[0].options
    assert options["observed"] == ["target", "tracking", "rotation"]
    assert (options["tracking_points"], options["tracking_resolution_mm"], options["tracking_memory"]) == (4, 3.0, 2)
    anatomy = options["anatomy"]
    assert (anatomy["arch_type"], anatomy["seed"], anatomy["friction"]) == ("I", 7, 0.1)
    assert (anatomy["target_mode"], anatomy["target_branches"]) == ("centerline", ["lcca", "lsa"])
    assert (options["max_translation_mm_s"], options["tool"]["curve_radius_mm"]) == (30.0, 12.1)
    assert options["tool"]["shaft_bending"] == pytest.approx(2464, rel=1e-3)
    assert config_from_dict(json.loads(found.model_dump_json())) == found
    run = run_evaluation(found)
    result = next(iter(run.results()))
    assert result.error is None
    with np.load(run.path / result.npz) as arrays:
        seen = np.concatenate([arrays[f"observations.{key}"][:4].reshape(4, -1) for key in options["observed"]], axis=1)
        expected = by_hand(torch.load(file)["network_state_dicts"]["policy"], seen, passes=1)
        np.testing.assert_allclose(arrays["actions"], expected, atol=1e-5)


def by_hand(weights: dict[str, Any], seen: np.ndarray, passes: int) -> np.ndarray:
    """Actions of an episode, computed with torch's own LSTM and matrix products."""
    flat, out = torch.from_numpy(seen), []
    lstm = None
    if "head._lstm.weight_ih_l0" in weights:
        lstm = torch.nn.LSTM(20, 6, 2, batch_first=True)
        lstm.load_state_dict({key.removeprefix("head._lstm."): v for key, v in weights.items() if "_lstm" in key})
    state = None
    with torch.no_grad():
        for row in flat:
            value = row[None, None]
            if lstm is not None:
                for _ in range(passes):
                    value, state = lstm(row[None, None], state)
            value = value[0, 0] @ weights["body._input_layer.weight"].T + weights["body._input_layer.bias"]
            value = torch.relu(value @ weights["body._layers.0.weight"].T + weights["body._layers.0.bias"])
            mean = value @ weights["body._output_layers.0.weight"].T + weights["body._output_layers.0.bias"]
            out.append(torch.tanh(mean).numpy())
    return np.stack(out)


def test_an_lstm_moves_on_twice_where_parity_is_asked_for(tmp_path: Path) -> None:
    file = everl_files.checkpoint(tmp_path, "LSTM")
    run = run_evaluation(config(tmp_path, file, "endovascular", {"options": {"double_step": True}}))
    result = next(iter(run.results()))
    with np.load(run.path / result.npz) as arrays:
        names = ("target", "tracking", "rotation")
        seen = np.concatenate([arrays[f"observations.{key}"][:4].reshape(4, -1) for key in names], axis=1)
        weights = torch.load(file)["network_state_dicts"]["policy"]
        np.testing.assert_allclose(arrays["actions"], by_hand(weights, seen, passes=2), atol=1e-5)
        assert np.abs(arrays["actions"] - by_hand(weights, seen, passes=1)).max() > 1e-5


def test_one_config_serves_both_simulators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same options and checkpoint: the same entries, shapes and actions of the same range."""
    steve_double.install(monkeypatch)
    file = everl_files.checkpoint(tmp_path, inputs=16, env_eval=None)
    shapes = []
    for suite in ("steve", "endovascular"):
        options = {"observation": "steve", "tool": "standard_j", "anatomy": {"target_branches": ["lcca"]}}
        raw = {"agents": [{"name": "sac", "checkpoint": str(file)}], "tasks": [{"suite": suite, "options": options}],
               "n_trials": 1, "max_episode_steps": 3, "workers": "inline", "output_root": str(tmp_path / suite),
               "record": {"observations": True}}  # fmt: skip
        run = run_evaluation(config_from_dict(raw))
        (result,) = run.results()
        assert result.error is None
        with np.load(run.path / result.npz) as arrays:
            shapes.append({key: arrays[key].shape for key in arrays.files if key.startswith("observations.")})
            assert np.abs(arrays["actions"]).max() <= 1
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"env_eval": None}, "holds no configuration of an environment"),
        ({"env_eval": everl_files.environment(image=everl_files.described("observation.image.Image"))},
         'the observation "image" is Image; expected each of Tracking2D'),
        ({"env_eval": everl_files.environment(turn=everl_files.described("observation.lastaction.LastAction"))},
         'the observation "turn" is not scaled, unlike ours'),
    ],
)  # fmt: skip
def test_environments_that_cannot_be_rebuilt(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    file = everl_files.checkpoint(tmp_path, **changes)
    with pytest.raises(ConfigError, match=message):
        config(tmp_path, file, "endovascular", {"policy": "zero", "checkpoint": None})


def test_an_environment_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no such file: .*none\.everl"):
        config(tmp_path, tmp_path / "none.everl", "endovascular", {"policy": "zero", "checkpoint": None})


def test_checkpoints_that_do_not_fit(tmp_path: Path) -> None:
    file = everl_files.checkpoint(tmp_path, inputs=9)
    with pytest.raises(InputError, match='takes 9 numbers, and the observation of task "best" has 20; set'):
        run_evaluation(config(tmp_path, file, "endovascular"))
    with pytest.raises(InputError, match='trained on target, tracking, rotation, and task "best" observes target; set'):
        run_evaluation(config(tmp_path, file, "endovascular", None, observed=["target"]))
    broken = everl_files.checkpoint(tmp_path, algo={})
    with pytest.raises(InputError, match="is no whole checkpoint of eve_rl's SAC"):
        run_evaluation(config(tmp_path, broken, "endovascular"))
