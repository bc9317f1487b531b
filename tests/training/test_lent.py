"""Environments that a caller lends give what the evaluation's own gives, in whatever conventions they speak."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lent_double import LentDouble  # noqa: E402

from proctor import TrackingEvaluation, TrackingEvaluationCfg  # noqa: E402
from proctor.errors import InputError  # noqa: E402
from proctor.suites.tracking.options import TrackingOptions  # noqa: E402
from proctor.suites.tracking.suite import load_task  # noqa: E402
from proctor.suites.tracking.vector import TrackingVectorEnv  # noqa: E402

MOTIONS = ["procedural:squat", "procedural:wave", "procedural:kick"]


def config(**keys):
    defaults = {"motions": MOTIONS, "max_episode_length_s": 0.8, "num_envs": 3, "max_workers": 1}
    return TrackingEvaluationCfg(**(defaults | keys))


class Follows(torch.nn.Module):
    """Steers to the joints that its context says, in the robot's order of joints."""

    def __init__(self):
        super().__init__()
        robot = load_task(TrackingOptions(motions=MOTIONS))[0]
        self.register_buffer("scale", torch.tensor(robot.description.action_scale, dtype=torch.float32))
        self.weight = torch.nn.Parameter(torch.ones(1))

    def backward_map(self, obs):
        return obs["state"][:, :29] * self.weight

    def project_z(self, z):
        return z

    def act(self, obs, z, mean=True):
        return z / self.scale


def numbers(metrics):
    return {name: {k: v for k, v in values.items() if k != "worlds"} for name, values in metrics.items()}


def evaluate(env=None, **keys):
    return TrackingEvaluation(config(**keys)).run(timestep=0, agent_or_model=Follows(), env=env)[0]


@pytest.mark.parametrize(("worlds", "partial"), [(3, True), (3, False), (2, True), (2, False), (5, False)])
def test_conventions_waves_and_refilling_change_nothing(worlds, partial):
    lent = LentDouble(TrackingOptions(motions=MOTIONS), worlds, partial)
    assert numbers(evaluate(lent)) == numbers(evaluate())
    assert lent.training


class HostCopies(torch.overrides.TorchFunctionMode):
    """Counts what brings a tensor to the host."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        self.count += name in ("cpu", "numpy", "item", "tolist", "__bool__", "nonzero", "__array__")
        return function(*args, **(kwargs or {}))


class Silent(LentDouble):
    """Steps without asking for the actions on the host, so that every host copy that is counted is the evaluation's."""

    def step(self, actions):
        with torch._C.DisableTorchFunction():
            return super().step(actions)

    def read(self):
        with torch._C.DisableTorchFunction():
            return super().read()


def test_nothing_is_copied_to_the_host_step_by_step():
    counts = []
    for seconds in (0.2, 0.8):
        lent = Silent(TrackingOptions(motions=MOTIONS), 3)
        with HostCopies() as copies:
            evaluate(lent, max_episode_length_s=seconds)
        counts.append(copies.count)
    assert counts[0] == counts[1] > 0


def test_fixed_worlds_are_reshuffled_and_recorded():
    def where(timestep):
        evaluation = TrackingEvaluation(config())
        lent = LentDouble(TrackingOptions(motions=MOTIONS), 3)
        metrics, _ = evaluation.run(timestep=timestep, agent_or_model=Follows(), env=lent)
        return [values["worlds"][0] for values in metrics.values()]

    assert where(0) == where(0)
    assert len({tuple(where(step)) for step in range(5)}) > 1


def test_a_lent_environment_is_given_back_after_an_exception():
    class Breaks(Follows):
        def act(self, obs, z, mean=True):
            raise RuntimeError("broke")

    lent = LentDouble(TrackingOptions(motions=MOTIONS), 3)
    with pytest.raises(RuntimeError, match="broke"):
        TrackingEvaluation(config()).run(timestep=0, agent_or_model=Breaks(), env=lent)
    assert lent.training


def test_what_does_not_fit_is_named():
    lent = LentDouble(TrackingOptions(motions=MOTIONS), 3)
    lent.joint_names = lent.joint_names[:-1]
    with pytest.raises(InputError, match="the environment lacks the joint "):
        evaluate(lent)
    lent = LentDouble(TrackingOptions(motions=MOTIONS), 3)
    lent.joint_names = [*lent.joint_names, "finger"]
    with pytest.raises(InputError, match="has the joints finger, which the motions do not"):
        evaluate(lent)
    with pytest.raises(InputError, match="has no motions; set `motions`"):
        evaluate(LentDouble(TrackingOptions(motions=MOTIONS), 3), motions=[])


def vector_env():
    options = TrackingOptions(motions=MOTIONS, noise={"joint_pos": 0.01})
    env = TrackingVectorEnv(*load_task(options), 2, options)
    env.reset(seed=3)
    return env


def test_proctors_vector_environment_goes_on_as_if_nothing_had_been():
    disturbed, undisturbed = vector_env(), vector_env()
    rng = np.random.default_rng(0)
    for step in range(4):
        actions = rng.normal(size=(2, 29)).astype(np.float32)
        if step == 2:
            metrics = evaluate(disturbed, motions=[], disable_obs_noise=True)
            assert list(metrics) == ["squat", "wave", "kick"]
        first, second = disturbed.step(actions), undisturbed.step(actions)
        for key in first[0]:
            np.testing.assert_array_equal(first[0][key], second[0][key])
    again, other = disturbed.reset()[0], undisturbed.reset()[0]
    np.testing.assert_array_equal(again["state"], other["state"])


def test_worlds_beside_a_vector_environment_are_kept_for_the_next_run():
    env, evaluation = vector_env(), TrackingEvaluation(config())
    first, _ = evaluation.run(timestep=0, agent_or_model=Follows(), env=env)
    kept = evaluation._kept
    second, _ = evaluation.run(timestep=0, agent_or_model=Follows(), env=env)
    assert first == second
    assert evaluation._kept is kept
    evaluation.close()
    assert evaluation._kept is None
