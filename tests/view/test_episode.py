"""The signals and the scene of a trial: every number as it was recorded, and nothing that a damaged record could do."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from examining import examination, policy, task

from proctor import Run, config_from_dict, run_evaluation
from proctor.config.models import ScoringCfg
from proctor.errors import InputError
from proctor.scoring import make_scoring
from proctor.view import scene, series
from proctor.view.snapshot import Snapshot, signature_of
from proctor.view.table import Query, described
from proctor.view.trial import _score, log_lines, trial_keys
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial


def unpacked(data: bytes) -> tuple[dict[str, Any], np.ndarray]:
    length = int.from_bytes(data[:4], "little")
    return json.loads(data[4 : 4 + length]), np.frombuffer(data[4 + length :], "<f4")


def taken(run: Path) -> Snapshot:
    return Snapshot(run, signature_of(run), trust=False)


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A MuJoCo task whose states are recorded."""
    tasks = [{"suite": "gymnasium", "name": "pole", "options": {"id": "InvertedPendulum-v5"}}]
    keys = {"agents": [{"policy": "random"}], "tasks": tasks, "n_trials": 2, "record": {"states": True}}
    return run_evaluation(config_from_dict(examination(tmp_path_factory.mktemp("runs"), scoring="return", **keys)))


def test_every_recorded_number_comes_through(pendulum: Run) -> None:
    head, numbers = unpacked(series.packed(taken(pendulum.path), "random/pole/0000"))
    arrays, at = pendulum.signals("random/pole/0000"), 0
    for signal in head["signals"]:
        for column in range(signal["columns"]):
            recorded = np.asarray(arrays[signal["name"]], np.float32).reshape(head["n"], -1)[:, column]
            assert numbers[at : at + head["n"]].tobytes() == recorded.tobytes()
            at += head["n"]
    assert at == len(numbers)
    assert [signal["name"] for signal in head["signals"]][:2] == ["rewards", "actions"]
    assert head["dt_s"] == pytest.approx(float(arrays["action_dt_s"]))
    assert not any(one["name"].startswith("scene.") for one in head["constants"])


def test_states_are_those_of_the_simulator(pendulum: Run) -> None:
    """The poses follow from the recorded actions: the simulator is stepped again, and asked."""
    import gymnasium
    import mujoco

    arrays, trial = pendulum.signals("random/pole/0001"), pendulum.trial("random/pole/0001").trial
    env = gymnasium.make("InvertedPendulum-v5").unwrapped
    env.reset(seed=trial.seed)
    for step, action in enumerate(arrays["actions"]):
        env.step(action)
        aside = mujoco.MjData(env.model)
        aside.qpos[:] = env.data.qpos
        mujoco.mj_kinematics(env.model, aside)
        assert np.array_equal(arrays["state.body_pos"][step], aside.xpos.astype(np.float32))
        assert np.array_equal(arrays["state.body_quat"][step], aside.xquat.astype(np.float32))
    assert [str(name) for name in arrays["scene.body_names"]] == ["world", "cart", "pole"]
    env.close()


def test_recording_states_changes_nothing_else(pendulum: Run, tmp_path: Path) -> None:
    keys = pendulum.plain_config().model_dump(mode="json", include={"agents", "tasks"})
    plain = run_evaluation(config_from_dict(examination(tmp_path, scoring="return", n_trials=2, **keys)))
    with_states, without = (run.signals("random/pole/0000") for run in (pendulum, plain))
    assert {name for name in with_states if not name.startswith(("state.", "scene."))} == set(without)
    assert all(np.array_equal(with_states[name], array, equal_nan=True) for name, array in without.items())


def test_a_scene_of_a_model_has_its_shapes(pendulum: Run) -> None:
    head, numbers = unpacked(scene.packed(taken(pendulum.path), "random/pole/0000"))
    assert (head["kind"], head["names"]) == ("model", ["world", "cart", "pole"])
    place = head["blocks"]["pos"]
    first = numbers[place["start"] : place["start"] + 9].reshape(3, 3)
    assert np.array_equal(first, pendulum.signals("random/pole/0000")["state.body_pos"][0])
    assert head["blocks"]["geom_body"]["shape"][0] >= 3


def test_without_states_the_way_to_record_them_is_said(examine: Any) -> None:
    with pytest.raises(InputError, match=r"record\.states=true"):
        scene.packed(taken(examine().path), "linear/toy/0000")


def wires(n: int = 4) -> dict[str, np.ndarray]:
    return {
        "tip_pos3d": np.zeros((n, 3)), "wire_pos3d": np.zeros((n, 5, 3)), "vessel_pos3d": np.zeros((6, 3)),
        "vessel_radius": np.ones(6), "vessel_branch": np.zeros(6, int), "target_pos3d": np.ones(3),
        "wall_force_pos3d": np.zeros((n, 3)), "wall_wire_force_norm": np.arange(float(n)),
        "target_threshold_mm": np.array(5.0), "force_unit": np.array("N"),
    }  # fmt: skip


def test_a_wire_has_vessel_target_and_forces() -> None:
    found = scene._wire(wires(), 4)
    assert found is not None
    kind, blocks, more = found
    assert (kind, more["within"], more["force_unit"]) == ("wire", 5.0, "N")
    assert {"tip", "wire", "vessel", "radius", "branch", "target", "force", "force_at"} == set(blocks)
    kept = scene._wire({name: array for name, array in wires().items() if not name.startswith("wall")}, 4)
    assert kept is not None
    assert "force" not in kept[1]


def test_tracked_bodies_have_their_reference_and_lines_between_what_is_rigid() -> None:
    rng = np.random.default_rng(0)
    moved = rng.normal(size=(50, 1, 3)) + np.array([[0, 0, 0], [0, 0, 0.4], [0, 0, 0.9]])[None]
    moved[:, 2] += rng.normal(size=(50, 3))
    moved[:, 2, :2] = moved[:, 1, :2] + 0.1
    arrays = {"body_pos": moved, "reference.body_pos": np.zeros((51, 3, 3)), "body_names": np.array(["a", "b", "c"])}
    found = scene._bodies(arrays, 50)
    assert found is not None
    assert "reference_pos" in found[1]
    assert scene._rigid_links(moved)[0] == [0, 1]


def shapes() -> dict[str, np.ndarray]:
    return {
        "pos": np.zeros((2, 2, 3)), "geom_body": np.array([0, 1]), "geom_type": np.array([2, 7]),
        "geom_size": np.ones((2, 3)), "geom_pos": np.zeros((2, 3)), "geom_quat": np.zeros((2, 4)),
        "geom_rgba": np.ones((2, 4)), "geom_mesh": np.array([-1, 0]), "mesh_vertex_start": np.array([0, 3]),
        "mesh_face_start": np.array([0, 1]), "mesh_vertices": np.zeros((3, 3)), "mesh_faces": np.array([[0, 1, 2]]),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("geom_body", np.array([0, 2])), ("geom_body", np.array([0, -1])), ("geom_mesh", np.array([-1, 1])),
        ("mesh_faces", np.array([[0, 1, 3]])), ("mesh_faces", np.array([[0, 1, -1]])), ("geom_size", np.ones((2, 2))),
        ("mesh_vertex_start", np.array([0, 9])), ("mesh_face_start", np.array([1, 0])),
    ],
)  # fmt: skip
def test_shapes_that_lead_out_of_the_record_are_not_shown(name: str, value: np.ndarray) -> None:
    assert scene._sound(shapes(), 2)
    assert not scene._sound({**shapes(), name: value}, 2)


def test_moments_are_where_the_record_has_them(tmp_path: Path) -> None:
    run = run_evaluation(config_from_dict(examination(tmp_path, agents=[policy("Linear")], tasks=[task()])))
    for result in run.results():
        arrays = run.signals(result)
        found = list(series.moments(result, arrays, len(arrays["rewards"])))
        assert found[-1]["step"] == len(arrays["rewards"])
        worst = [moment for moment in found if "lowest reward" in moment["text"]]
        assert all(arrays["rewards"][moment["step"] - 1] == arrays["rewards"].min() for moment in worst)
        starts = [moment["step"] for moment in found if "for the first time" in moment["text"]]
        assert starts == ([] if result.first_success is None else [result.first_success])


def test_a_trial_tells_its_score_its_log_and_how_to_run_it_again(tmp_path: Path) -> None:
    run = run_evaluation(config_from_dict(examination(tmp_path)))
    found = trial_keys(taken(run.path), "linear/toy/0002", Query())
    assert found["score"]["total"] == float(run.trial("linear/toy/0002").success or 0)
    assert found["commands"][0]["command"] == f"proctor replay {run.path} linear/toy/0002"
    assert found["neighbours"]["before"] == "linear/toy/0001"
    with pytest.raises(InputError, match="no finished trial"):
        trial_keys(taken(run.path), "linear/toy/0099", Query())
    with pytest.raises(InputError, match="is no trial of this run"):
        trial_keys(taken(run.path), "../../etc", Query())


@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("terminal", {"weights": {"distance": 0.5, "unused": 0.0, "steps": -0.3}, "steps": "count"}),
        ("default_v1", {}),
        ("default_v1", {"normalize_weights": False, "w_success": 3.0}),
    ],
)
def test_what_a_part_adds_is_its_value_times_its_weight(mode: str, options: dict[str, Any]) -> None:
    metrics = {"term/distance": 0.25, "term/unused": 3.0, "wall_wire_force_norm_max": 0.5, "tip_speed_max_mm_s": 9.0}
    result = TrialResult(Trial("a", "t", 0, 1), Outcome.SUCCESS, True, 7, 7, 0.0, 100, metrics=metrics)
    scoring = make_scoring(ScoringCfg(mode=mode, options=options))
    found = _score(cast(Snapshot, SimpleNamespace(scored=True, scoring=scoring)), result)
    assert found is not None
    parts = {part["name"]: part for part in found["parts"]}
    for part in parts.values():
        if part["value"] is not None:
            assert part["value"] * part["weight"] == pytest.approx(part["contribution"])
    assert sum(part["contribution"] for part in parts.values()) == pytest.approx(found["total"])
    if mode == "terminal":
        assert (parts["distance"]["value"], parts["unused"]["value"]) == (0.25, None)
        assert parts["steps"]["value"] == pytest.approx(7)


def test_forces_have_the_unit_of_the_record_and_metrics_of_no_trial_are_not_listed(tmp_path: Path) -> None:
    keys = {"agents": [{"policy": "random"}], "tasks": [{"suite": "endovascular", "name": "vessel"}], "n_trials": 1}
    run = run_evaluation(config_from_dict(examination(tmp_path, **keys, max_episode_steps=12)))
    shown = taken(run.path)
    own = {one["name"]: one for one in trial_keys(shown, "random/vessel/0000", Query())["metrics"]}
    assert own["wall_force_max"]["unit"] == "N"
    assert own["tip_speed_max_mm_s"]["unit"] == "mm/s"
    assert {"name": "wall_force_max", "unit": "N"} in described(shown)["metrics"]
    assert set(own) == {name for name, value in run.trial("random/vessel/0000").metrics.items() if value is not None}
    head, _ = unpacked(series.packed(shown, "random/vessel/0000"))
    assert not [moment["text"] for moment in head["moments"] if "scene force" in moment["text"]]
    arrays = {name: array for name, array in run.signals("random/vessel/0000").items() if name != "force_unit"}
    assert series._unit("scene force", arrays) == "scene force"


def test_lines_of_the_log_are_those_of_the_trial(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(
        "2026-01-01 12:00:00,000 INFO session begins\n"
        "2026-01-01 12:00:01,000 WARNING trial a/b/0001 (seed 1): broke: boom\nTraceback\n  line\n"
        "2026-01-01 12:00:02,000 WARNING trial a/b/0010 (seed 1): broke\n"
    )
    assert log_lines(log, "a/b/0001") == log.read_text().splitlines()[1:4]
    assert log_lines(tmp_path / "none", "a/b/0001") == []


def test_a_mesh_with_many_faces_is_thinned_and_keeps_its_size() -> None:
    from proctor.suites.states import MOST_FACES, thinned

    turns = np.linspace(0, 2 * np.pi, 80, endpoint=False)
    heights = np.linspace(-1, 1, 40)
    vertices = np.array([[np.cos(t), np.sin(t), h] for h in heights for t in turns], np.float32)
    faces = np.array(
        [[r * 80 + c, r * 80 + (c + 1) % 80, (r + 1) * 80 + c] for r in range(39) for c in range(80)], np.int32
    )
    fewer, kept = thinned(vertices, faces)
    assert 100 < len(kept) <= MOST_FACES
    assert kept.max() < len(fewer)
    assert np.abs(fewer.max(axis=0) - vertices.max(axis=0)).max() < 0.2
    assert thinned(fewer, kept)[1] is kept
