"""The evaluation's own environment: laws first. Short clips, few worlds."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from drawing import needs_frames
from restless import ACTED, Restless

from proctor import (
    ConfigError,
    CsvLogger,
    DictLogger,
    Loggers,
    TrackingEvaluation,
    TrackingEvaluationCfg,
    config_from_dict,
    run_evaluation,
)
from proctor.config.models import AgentCfg
from proctor.errors import InputError, RunError
from proctor.policies import load_policy
from proctor.policies.protocol import Actions, Batch, Policy
from proctor.suites.tracking.suite import load_task
from proctor.training import tracking
from proctor.training.rollout import Episode, run_episodes

MOTIONS = ["procedural:squat", "procedural:wave", "procedural:kick"]


def config(**keys):
    return TrackingEvaluationCfg(
        **{"motions": MOTIONS, "max_episode_length_s": 1.0, "num_envs": 3, "max_workers": 1} | keys
    )


def run(agent="tracking/mirror", timestep=0, **keys):
    evaluation = TrackingEvaluation(config(**keys))
    if isinstance(agent, str):
        agent = load_policy(AgentCfg(name="a", policy=agent), evaluation.spaces())
    return evaluation.run(timestep=timestep, agent_or_model=agent)


def numbers(metrics, leave_out=("worlds",)):
    return {name: {k: v for k, v in values.items() if k not in leave_out} for name, values in metrics.items()}


NOISY = {"randomise": {"mass": [0.8, 1.2]}, "noise": {"joint_pos": 0.05}}


def test_worlds_that_are_refilled_give_what_enough_worlds_give():
    """One world for three motions equals three worlds: randomisation belongs to the episode, not to the world."""
    assert numbers(run(num_envs=1, **NOISY)[0]) == numbers(run(num_envs=3, **NOISY)[0])


def test_neighbours_and_threads_change_nothing():
    alone, _ = run(motions=["procedural:wave"])
    among, _ = run()
    assert alone["wave"]["distance"] == among["wave"]["distance"]
    assert numbers(run(threads=1, max_workers=2)[0]) == numbers(among)


def test_metrics_on_a_device_are_those_of_the_processor_up_to_rounding(monkeypatch):
    pytest.importorskip("torch")
    here, log = run()
    monkeypatch.setattr(tracking, "_device_of", lambda array: "cpu")
    there, other = run()
    assert {name: list(values) for name, values in here.items()} == {name: list(v) for name, v in there.items()}
    for name, values in here.items():
        assert there[name] == {
            key: pytest.approx(value, rel=1e-12, abs=1e-12) if isinstance(value, float) else value
            for key, value in values.items()
        }
    assert other == pytest.approx(log, rel=1e-12, abs=1e-12)


def test_only_a_gpu_is_a_device_of_its_own():
    torch = pytest.importorskip("torch")
    assert tracking._device_of(np.zeros(3)) is None
    assert tracking._device_of(torch.zeros(3)) is None


def test_seed_and_time_step_decide_what_is_drawn():
    first = numbers(run(**NOISY)[0])
    assert first == numbers(run(**NOISY)[0])
    assert first != numbers(run(**NOISY, seed=1)[0])
    assert first != numbers(run(timestep=10, **NOISY)[0])
    quiet = {**NOISY, "disable_obs_noise": True, "disable_domain_randomization": True}
    assert numbers(run(**quiet)[0]) == numbers(run(timestep=10, **quiet)[0]) == numbers(run()[0])


def test_motions_are_measured_on_their_own_length():
    metrics, _ = run(max_episode_length_s=None, motions=["procedural:squat", "procedural:wave"], clip_s=0.5)
    lengths = load_task(config(motions=["procedural:squat", "procedural:wave"], clip_s=0.5))[1].lengths
    assert [values["frames_compared"] for values in metrics.values()] == lengths.tolist()
    assert all(values["frames_cut"] == 0 for values in metrics.values())


def test_mirror_beats_hold_and_random_in_joint_space():
    emd = {agent: run(agent)[1]["emd"] for agent in ("tracking/mirror", "tracking/hold", "random")}
    assert emd["tracking/mirror"] < emd["tracking/hold"] < emd["random"]


def test_means_and_deviations_are_over_motions():
    metrics, log = run(n_episodes_per_motion=2, **NOISY)
    emd = [values["emd"] for values in metrics.values()]
    assert log["emd"] == pytest.approx(np.mean(emd))
    assert log["emd#std"] == pytest.approx(np.std(emd))
    assert all(len(values["worlds"]) == 2 for values in metrics.values())
    assert not {"motion_id", "worlds"} & log.keys()
    assert [values["motion_id"] for values in metrics.values()] == [0, 1, 2]


def test_spare_worlds_count_only_where_asked():
    assert sum(len(v["worlds"]) for v in run(num_envs=5)[0].values()) == 3
    spare, _ = run(num_envs=5, include_results_from_all_envs=True)
    assert sorted(world for values in spare.values() for world in values["worlds"]) == [0, 1, 2, 3, 4]


class Broken(Policy):
    """NaN for the second motion, from the third frame on."""

    def act(self, batch: Batch):
        actions = np.zeros((len(batch), 29))
        actions[(batch.observation["motion"] == 1) & (batch.observation["frame"] > 2)] = np.nan
        return actions


def test_an_agent_that_gives_nan_is_not_measured_and_does_not_disturb_its_neighbours():
    broken, log = run(Broken(), targets={"emd": 100.0})
    held, _ = run("tracking/hold", targets={"emd": 100.0})
    assert math.isnan(broken["wave"]["emd"])
    assert broken["wave"]["passed"] is False
    assert broken["squat"] == {**held["squat"], "worlds": broken["squat"]["worlds"]}
    assert (log["emd#n"], log["emd#missing"]) == (len(broken) - 1, 1)
    assert log["emd#passed"] == log["passed"] == 0.0


class Counting(Policy):
    """Its state counts the steps of a trial; every row must see its own."""

    def reset(self, trials):
        return np.zeros(len(trials), int)

    def act(self, batch):
        frame = batch.observation["frame"]
        running = frame < 50
        np.testing.assert_array_equal(batch.state[running], frame[running] - 1)
        return Actions(np.zeros((len(batch), 29)), batch.state + 1)


def test_a_policy_with_memory_starts_afresh_in_a_refilled_world():
    run(Counting(), num_envs=2)


def test_an_episode_is_the_trial_of_a_run_to_the_byte(tmp_path, monkeypatch):
    """The same motions with the same seeds: what the policy was asked and answered, and what came of it."""
    monkeypatch.setattr("proctor.rollout.ask.runner.DUE", ())  # a run asks some forwards again, an evaluation none
    task = {"motions": MOTIONS, "max_episode_length_s": 0.4, **NOISY}
    raw = {
        "agents": [{"name": "restless", "policy": "restless:Restless", "options": {"placement": "engine"}}],
        "tasks": [{"suite": "tracking", "name": "tracking", "options": task}],
        "base_seed": 77,
        "num_parallel": 2,
        "workers": "inline",
        "output_root": str(tmp_path),
    }
    ACTED.clear()
    examined = run_evaluation(config_from_dict(raw))
    asked = dict(ACTED)
    recorded = {r.trial.seed: examined.episode(r).arrays["joint_pos"] for r in examined.results()}
    ACTED.clear()
    evaluation, found = TrackingEvaluation(config(**task, num_envs=1)), {}
    monkeypatch.setattr(evaluation, "_episodes", lambda *_: [Episode(motion, 77 + motion) for motion in range(3)])

    def noted(*arguments):
        for one in run_episodes(*arguments):
            found[one.episode.seed] = one.fields["joint_pos"]
            yield one

    monkeypatch.setattr("proctor.training.tracking.run_episodes", noted)
    evaluation.run(timestep=0, agent_or_model=Restless())
    for seed, actions in asked.items():
        assert ACTED[seed][: len(actions)] == actions
        np.testing.assert_array_equal(found[seed][1:], recorded[seed])


def test_a_policy_that_raises_is_named_with_its_motion():
    class Raises(Policy):
        def act(self, batch):
            raise ValueError("no idea")

    with pytest.raises(RunError, match=r"the policy failed in motion \d \(seed \d+\): .*no idea"):
        run(Raises())


class Sees:
    """A latent model on numpy arrays that steers to the reference's joints."""

    def __init__(self, evaluation):
        self.robot = evaluation.spaces().briefing["tracking"]().robot
        self.rows = []

    def backward_map(self, obs):
        self.rows.append(len(obs["state"]))
        assert obs["last_action"].shape == (len(obs["state"]), 29)
        return obs["state"][:, :29]

    def project_z(self, z):
        return z

    def act(self, obs, z, mean=True):
        assert mean
        return z / self.robot.description.action_scale


def test_a_latent_model_that_reads_joints_off_its_context_is_mirror():
    evaluation = TrackingEvaluation(config())
    model = Sees(evaluation)
    metrics, _ = evaluation.run(timestep=0, agent_or_model=model)
    mirror, _ = run()
    for name, values in metrics.items():
        assert values["emd"] == pytest.approx(mirror[name]["emd"], rel=1e-3)
    assert model.rows == [int((load_task(config())[1].lengths - 1).sum())]


def test_targets_give_pass_or_fail_in_the_direction_of_the_metric():
    _, log = run(targets={"emd": 100.0, "proximity": 2.0})
    assert (log["emd#passed"], log["proximity#passed"], log["passed"]) == (1.0, 0.0, 0.0)
    metrics, log = run(targets={"emd": 100.0})
    assert log["passed"] == 1.0
    assert all(values["passed"] is True for values in metrics.values())


def test_the_library_samples_as_before():
    _, library = load_task(config())
    library.update_sampling_weights([1.0, 2.0, 3.0])
    try:
        run()
        np.testing.assert_array_equal(library.sampling_weights, [1.0, 2.0, 3.0])
    finally:
        library.update_sampling_weights(np.ones(3))


def test_running_again_uses_the_same_worlds_and_gives_the_same():
    evaluation = TrackingEvaluation(config())
    policy = load_policy(AgentCfg(name="a", policy="tracking/mirror"), evaluation.spaces())
    first = evaluation.run(timestep=5, agent_or_model=policy)
    assert evaluation.run(timestep=5, agent_or_model=policy) == first


def test_it_logs_under_its_name():
    logger = DictLogger()
    evaluation = TrackingEvaluation(config(name_in_logs="val"))
    policy = load_policy(AgentCfg(name="a", policy="tracking/hold"), evaluation.spaces())
    _, log = evaluation.run(timestep=9, agent_or_model=policy, logger=logger)
    assert logger.history == {9: {f"eval/val/{key}": value for key, value in log.items()}}


def test_legacy_changes_the_differences():
    metrics, _ = run()
    old, _ = run(legacy="bfm_zero")
    assert old["kick"]["emd"] == metrics["kick"]["emd"]
    assert old["kick"]["vel_dist"] != metrics["kick"]["vel_dist"]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"targets": {"emdd": 1.0}}, 'unknown metric "emdd"; did you mean "emd"'),
        ({"targets": {"emd": float("nan")}}, "target of emd is NaN"),
        ({"name_in_logs": "a/b"}, "pattern"),
        ({"num_envs": 0}, "num_envs: found 0; expected at least 1"),
        ({"num_env": 3}, 'num_env: unknown key; .* did you mean "num_envs"'),
    ],
)
def test_bad_options_are_named(keys, text):
    with pytest.raises(ConfigError, match=text):
        config(**keys)


def test_what_cannot_be_evaluated_is_named():
    with pytest.raises(InputError, match="the evaluation has no motions; set `motions`, or lend an environment"):
        TrackingEvaluation(config(motions=[])).run(timestep=0, agent_or_model=Broken())
    with pytest.raises(InputError, match="cannot evaluate a int: expected a model with backward_map"):
        run(agent=3)
    with pytest.raises(InputError, match="cannot evaluate in a str: expected Proctor's TrackingVectorEnv"):
        TrackingEvaluation(config()).run(timestep=0, agent_or_model=Broken(), env="isaac")


def test_the_worst_motions_get_a_video(tmp_path):
    pytest.importorskip("av")
    needs_frames()
    keys = {"generate_videos": True, "videos_dir": str(tmp_path), "video_name_prefix": "me", "max_videos": 1}
    metrics, _ = run("tracking/hold", timestep=4, max_episode_length_s=0.8, targets={"emd": 1.0}, **keys)
    worst = max(metrics, key=lambda name: metrics[name]["emd"])
    assert [path.name for path in tmp_path.iterdir()] == [f"me_4_{worst}.mp4"]


def test_loggers_get_a_row_for_each_motion(tmp_path):
    logger, kept = DictLogger(), CsvLogger(tmp_path / "eval.csv")
    evaluation = TrackingEvaluation(config(max_episode_length_s=0.2))
    agent = load_policy(AgentCfg(name="a", policy="tracking/mirror"), evaluation.spaces())
    metrics, _ = evaluation.run(timestep=7, agent_or_model=agent, logger=Loggers(logger, kept))
    rows = logger.tables[7]["eval/tracking/motions"]
    assert [row["motion"] for row in rows] == ["squat", "wave", "kick"]
    assert rows[1]["emd"] == metrics["wave"]["emd"]
    assert rows[1]["worlds"] == str(metrics["wave"]["worlds"][0])
    with kept.rows_path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    found = [line for line in lines if (line["row"], line["key"]) == ("wave", "emd")]
    assert [(line["step"], line["table"], float(line["value"])) for line in found] == [
        ("7", "eval/tracking/motions", metrics["wave"]["emd"])
    ]


def test_trajectories_are_written_on_request_and_give_the_metrics_again(tmp_path):
    metrics, _ = run(timestep=3, trajectories_dir=str(tmp_path / "raw"), n_episodes_per_motion=2, num_envs=1)
    files = sorted(path.name for path in (tmp_path / "raw" / "3").iterdir())
    assert files == sorted(f"{name}_0{again}.npz" for name in ("squat", "wave", "kick") for again in ("", "_2"))
    with np.load(tmp_path / "raw" / "3" / "wave_0.npz") as saved:
        agent, reference = saved["agent_joint_pos"], saved["reference_joint_pos"]
        assert agent.shape == reference.shape == (51, len(saved["joint_names"]))
        assert saved["agent_body_pos"].shape[1] == len(saved["body_names"])
        assert (str(saved["motion"]), float(saved["dt_s"])) == ("wave", 0.02)
    assert np.linalg.norm(agent - reference, axis=1).mean() == pytest.approx(metrics["wave"]["distance"], rel=1e-9)
    assert not (tmp_path / "raw" / "0").exists()
