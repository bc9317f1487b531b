"""The suite: from a config to trials, briefings and records; what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examining import by_key, digests
from pydantic import ValidationError
from tracking_worlds import options

from proctor import run_evaluation
from proctor.config import config_from_dict
from proctor.errors import ProctorError
from proctor.suites import briefing, is_batch, make_env
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.suite import TrackingSuite, load_task


def config(**suite_options: Any) -> dict[str, Any]:
    return {
        "agents": [{"policy": "random"}],
        "tasks": [{"suite": "tracking", "options": {"motions": "procedural:all", **suite_options}}],
    }


def task(**suite_options: Any):
    return config_from_dict(config(**suite_options), Path()).tasks[0]


def test_a_task_has_as_many_trials_as_motions_times_episodes():
    assert task().n_trials == 8
    assert task(n_episodes_per_motion=3).n_trials == 24
    assert task(motions=["procedural:squat", "procedural:wave"]).n_trials == 2
    assert task().name == "tracking"


def test_a_motion_is_followed_throughout_and_success_reached_at_no_step(tmp_path):
    assert task().success_rule == "throughout"
    cfg = config(max_episode_length_s=0.1, motions="procedural:squat", success="never_fell")
    done = run_evaluation(config_from_dict({**cfg, "output_root": str(tmp_path), "workers": "inline"}, tmp_path))
    (result,) = done.results()
    assert (result.success, result.steps_to_success) == (True, None)


def test_the_config_makes_the_environment_it_describes():
    cfg = task(
        motions="procedural:squat", observations=["state", "qpos"], root_height_obs=True, include_last_action=True
    )
    assert is_batch(cfg)
    env = make_env(cfg.suite, cfg.options, render=False, worlds=2)
    assert set(env.observation_space.spaces) == {"state", "qpos", "last_action", "root_height"}
    assert env.action_dt_s == 0.02
    env.close()


def test_a_briefing_shows_every_motion_as_it_would_be_observed():
    told = task(velocity_multiplier=0.5)
    brief = briefing(told.suite, told.options)
    assert len(brief.library) == 8
    observed = brief.reference_observations(2)
    assert observed["state"].shape == (brief.library.lengths[2], 64)
    assert observed["privileged_state"].shape == (brief.library.lengths[2], 463)
    reference = brief.library.reference(2)
    np.testing.assert_array_equal(observed["state"][:, 29:58], 0.5 * reference.joint_vel)


def test_motions_are_read_once_and_again_when_a_file_changes(tmp_path):
    file = tmp_path / "stand.csv"
    row = [0, 0, 0.76, 0, 0, 0, 1, *[0.0] * 29]
    np.savetxt(file, [row] * 4, delimiter=",")
    chosen = options(motions=[str(file)], fps=50)
    first = load_task(chosen)
    assert load_task(chosen)[1] is first[1]
    np.savetxt(file, [row] * 9, delimiter=",")
    import os

    os.utime(file, (1, 1))
    assert load_task(chosen)[1].lengths[0] > first[1].lengths[0]


def test_groups_are_what_the_options_say_together():
    assert options().groups == ("state", "privileged_state", "last_action", "motion", "frame")
    assert options(include_last_action=False).groups == ("state", "privileged_state", "motion", "frame")
    chosen = options(observations=["state", "state"], include_history_actor=True, root_height_obs=True)
    assert chosen.groups == ("state", "history", "root_height")
    assert chosen.history_length == 4
    assert options(observations=["history"], context_length=7).history_length == 7


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"physics_hz": 120}, "found physics_hz 120 and control_hz 50; expected physics_hz to be a whole multiple"),
        ({"control_hz": 400}, "found physics_hz 200 and control_hz 400"),
        ({"context_length": 3}, "context_length is the length of `history`; add it: include_history_actor: true"),
        ({"observations": ["last_action"], "include_last_action": False}, "leaves no observations"),
        ({"observations": []}, "at least 1 item"),
        ({"observations": ["stat"]}, "'state', 'privileged_state'"),
        ({"motions": []}, "at least 1 item"),
        ({"success": "ever"}, "'phc_mean', 'phc_linf' or 'never_fell'"),
        ({"reference_offsets": []}, "at least 1 item"),
        ({"threads": 0}, "greater than or equal to 1"),
        ({"terminate": {"falls": True}}, "Extra inputs are not permitted"),
    ],
)
def test_wrong_options_are_refused(keys, message):
    with pytest.raises(ValidationError) as refused:
        options(**keys)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"robot": "builtin:g2"}, 'unknown robot "builtin:g2"'),
        ({"motions": ["procedural:sqat"]}, "squat"),
        ({"motions": ["./nowhere.csv"]}, "no file or folder"),
        ({"robot_options": {"stifness": 3}}, 'did you mean "stiffness"?'),
        ({"threds": 2}, "threads"),
    ],
)
def test_what_cannot_be_loaded_is_said_when_the_config_is_read(keys, message):
    with pytest.raises(ProctorError) as refused:
        task(**keys)
    assert message in str(refused.value)


def test_options_survive_the_resolved_config():
    given = options(randomise={"mass": [0.9, 1.1], "pushes": {}}, terminate={"fall": True}, joint_names=["a"])
    assert TrackingOptions.model_validate_json(given.model_dump_json()) == given
    assert TrackingOptions.model_validate(given.model_dump(mode="json")) == given


def test_a_suite_without_a_config():
    suite = TrackingSuite()
    assert suite.default_trials(options(motions="procedural:bow", n_episodes_per_motion=2)) == 2


RANDOM = {"randomise": {"mass": [0.9, 1.1], "pushes": {"every_s": [0.05, 0.1]}}, "noise": {"joint_pos": 0.01}}


def run(folder: Path, name: str, **keys: Any):
    cfg = config(max_episode_length_s=0.2, observations=["state", "motion", "frame"], **RANDOM)
    whole = {**cfg, "name": name, "output_root": str(folder), "scoring": "success", **keys}
    return run_evaluation(config_from_dict(whole, folder))


def test_a_run_is_the_same_however_it_is_run(tmp_path):
    """Worlds, workers and order: the recorded arrays are equal to the byte."""
    one = run(tmp_path, "one", num_parallel=1, workers="inline")
    many = run(tmp_path, "many", num_parallel=5, workers="inline")
    assert len(digests(one)) == 8
    assert digests(one) == digests(many)
    cases = {result.case for result in by_key(one).values()}
    assert cases == set(load_task(options())[1].names)
