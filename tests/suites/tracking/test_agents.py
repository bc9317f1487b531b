from __future__ import annotations

import numpy as np
import pytest

from proctor import config_from_dict, run_evaluation
from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies import load_policy
from proctor.policies.protocol import Batch, SpaceInfo
from proctor.suites.tracking.agents import Hold, Mirror
from proctor.suites.tracking.batch import action_space
from proctor.suites.tracking.observing import observation_space
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.suite import TrackingSuite, load_task
from proctor_host.trials import Trial

SQUAT_AND_WAVE = ["procedural:squat", "procedural:wave"]


def told(**tasks):
    """SpaceInfo of tracking tasks with these options."""
    options = {name: TrackingOptions(motions=SQUAT_AND_WAVE, **keys) for name, keys in tasks.items()}
    parts = {name: load_task(o) for name, o in options.items()}
    return SpaceInfo(
        {name: observation_space(*parts[name], options[name]) for name in tasks},
        {name: action_space(parts[name][0]) for name in tasks},
        {name: (lambda o=o: TrackingSuite().briefing(o)) for name, o in options.items()},
    )


def batch(observation, tasks):
    trials = [Trial("a", task, i, i) for i, task in enumerate(tasks)]
    return Batch(observation, None, [t.policy_rng() for t in trials], trials)


def seen(motions, frames):
    return {"motion": np.array(motions), "frame": np.array(frames)}


@pytest.fixture(scope="module")
def task():
    return load_task(TrackingOptions(motions=SQUAT_AND_WAVE))


def test_mirror_asks_for_the_frame_that_comes_next(task):
    robot, library = task
    actions = Mirror(told(one={})).act(batch(seen([0, 1], [7, 3]), ["one", "one"]))
    targets = robot.description.default_pose + robot.description.action_scale * actions
    np.testing.assert_allclose(targets[0], library.reference(0).joint_pos[7], atol=1e-6)
    np.testing.assert_allclose(targets[1], library.reference(1).joint_pos[3], atol=1e-6)
    assert actions.dtype == np.float32


def test_mirror_reads_the_window_where_that_is_what_it_sees(task):
    robot, library = task
    spaces = told(one={"observations": ["reference"], "reference_offsets": [0, 1, 5], "action": "absolute"})
    window = np.zeros((2, 3, *spaces.observation["one"]["reference"].shape[1:]), np.float32)
    window[:, 1, : robot.description.n_joints] = library.reference(1).joint_pos[[4, 9]]
    actions = Mirror(spaces).act(batch({"reference": window}, ["one", "one"]))
    np.testing.assert_allclose(actions, library.reference(1).joint_pos[[4, 9]], atol=1e-6)


def test_hold_keeps_the_default_pose_or_the_first_frame(task):
    robot, library = task
    rows = batch(seen([0, 1], [9, 9]), ["one", "one"])
    np.testing.assert_array_equal(Hold(told(one={})).act(rows), np.zeros((2, robot.description.n_joints)))
    absolute = told(one={"action": "absolute"})
    pose = robot.description.default_pose.astype(np.float32)
    np.testing.assert_array_equal(Hold(absolute).act(rows), [pose, pose])
    first = Hold(absolute, pose="first").act(rows)
    np.testing.assert_allclose(first, [library.reference(0).joint_pos[0], library.reference(1).joint_pos[0]], atol=1e-6)


def test_rows_of_several_tasks(task):
    robot, library = task
    spaces = told(offset={}, absolute={"action": "absolute"})
    actions = Mirror(spaces).act(batch(seen([0, 0], [30, 30]), ["absolute", "offset"]))
    np.testing.assert_allclose(actions[0], library.reference(0).joint_pos[30], atol=1e-6)
    targets = robot.description.default_pose + robot.description.action_scale * actions[1]
    np.testing.assert_allclose(targets, actions[0], atol=1e-6)


@pytest.mark.parametrize(
    ("name", "options"), [("tracking/mirror", {}), ("tracking/hold", {"kwargs": {"pose": "first"}})]
)
def test_short_names(name, options):
    policy = load_policy(AgentCfg(name="a", policy=name, options=options), told(one={}))
    assert policy.act(batch(seen([0], [1]), ["one"])).shape == (1, 29)


def test_what_an_agent_cannot_see_is_named():
    with pytest.raises(
        InputError, match=r"cannot see the next reference frame .* its observations are state; add motion"
    ):
        Mirror(told(one={"observations": ["state"]}))
    with pytest.raises(InputError, match="cannot see the next reference frame"):
        Mirror(told(one={"observations": ["reference"], "reference_offsets": [0]}))
    with pytest.raises(InputError, match="needs the observation `motion`"):
        Hold(told(one={"observations": ["state"]}), pose="first")
    with pytest.raises(InputError, match='the pose "last"; expected default or first'):
        Hold(told(one={}), pose="last")  # type: ignore[arg-type]


def test_a_task_without_motions_is_refused():
    spaces = SpaceInfo({"cartpole": None}, {"cartpole": None}, {"cartpole": lambda: None})
    with pytest.raises(InputError, match='the agent mirror follows motions, but task "cartpole" has none'):
        Mirror(spaces)


def test_agents_in_a_run(tmp_path):
    """From a config: every motion is a trial, and mirror is nearer to the reference than hold."""
    names = {"mirror": "tracking/mirror", "hold": "tracking/hold", "typed": "proctor.suites.tracking.agents:Mirror"}
    options = {"motions": SQUAT_AND_WAVE, "max_episode_length_s": 1.0}
    run = run_evaluation(
        config_from_dict(
            {
                "agents": [{"name": name, "policy": policy} for name, policy in names.items()],
                "tasks": [{"suite": "tracking", "options": options}],
                "workers": "inline",
                "output_root": str(tmp_path),
            }
        )
    )
    results = list(run.results())
    assert len(results) == 3 * 2
    emd = {(r.trial.agent, r.case): r.metrics["emd"] for r in results}
    assert emd["mirror", "wave"] == emd["typed", "wave"] < emd["hold", "wave"]
