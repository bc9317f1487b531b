"""Evaluation inside a training loop, in worlds on a device: what is measured, and that training does not notice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

REASON = "worlds on a device need torch, MuJoCo Warp and Warp: make warp has them"
torch: Any = pytest.importorskip("torch", reason=REASON)
pytest.importorskip("mujoco_warp", reason=REASON)

from device_worlds import device_env  # noqa: E402 - it needs them

from proctor import TrackingEvaluation, TrackingEvaluationCfg  # noqa: E402 - likewise
from proctor.config.models import AgentCfg  # noqa: E402 - likewise
from proctor.policies import load_policy  # noqa: E402 - likewise

pytestmark = pytest.mark.timeout(600)  # the first run on a machine compiles kernels


class Model(torch.nn.Module):
    """Latent-conditioned, and always in the default pose: what it does is the same on every simulator."""

    def __init__(self):
        super().__init__()
        self.drop, self.layer = torch.nn.Dropout(0.5), torch.nn.Linear(64, 4)
        self.seen: set[str] = set()

    def backward_map(self, obs: Any) -> Any:
        return self.layer(obs["state"])

    def project_z(self, z: Any) -> Any:
        return z

    def act(self, obs: Any, z: Any, mean: bool = True) -> Any:
        self.seen.add(f"{type(obs['state']).__name__} {obs['state'].dtype} {self.training}")
        torch.rand(3)
        return 0.0 * self.drop(torch.ones(len(z), 29))


def cfg(**keys: Any) -> TrackingEvaluationCfg:
    given = {"motions": ["procedural:squat", "procedural:wave"], "max_episode_length_s": 0.4, "num_envs": 2, **keys}
    return TrackingEvaluationCfg.model_validate(given)


def test_worlds_on_a_device_measure_what_worlds_on_the_processor_do():
    found = {}
    for physics in ("cpu", "warp"):
        evaluation = TrackingEvaluation(cfg(physics=physics))
        found[physics], _ = evaluation.run(timestep=7, agent_or_model=Model())
        evaluation.close()
    assert found["cpu"].keys() == found["warp"].keys() == {"squat", "wave"}
    for motion, metrics in found["cpu"].items():
        assert metrics.keys() == found["warp"][motion].keys()
        for name in ("emd", "distance", "mpjpe_xpos", "root_pos_error_m", "obs_state_distance", "upright_share"):
            assert found["warp"][motion][name] == pytest.approx(metrics[name], rel=0.05, abs=0.01), name


def test_training_does_not_notice():
    model = Model().train()
    torch.manual_seed(3)
    np.random.seed(3)  # noqa: NPY002 - training's own
    before = torch.get_rng_state(), np.random.get_state()[1].tolist()  # noqa: NPY002 - likewise
    evaluation = TrackingEvaluation(cfg(physics="warp", noise={"joint_pos": 0.01}))
    first, _ = evaluation.run(timestep=0, agent_or_model=model)
    again, _ = evaluation.run(timestep=0, agent_or_model=model)
    evaluation.close()
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]  # noqa: NPY002 - likewise
    assert model.training
    assert model.drop.training
    assert torch.is_grad_enabled()
    assert model.seen == {"Tensor torch.float32 False"}
    assert {name: row["emd"] for name, row in first.items()} == {name: row["emd"] for name, row in again.items()}


def test_the_worlds_of_training_go_on_as_if_nothing_had_been():
    env = device_env(2)
    env.reset([0, 1], [4, 5], [0, 1])
    state = [tensor.clone() for tensor in (env.worlds.physics.qpos, env.worlds.frame, env.worlds.motion)]
    evaluation = TrackingEvaluation(cfg(motions=[]))
    metrics, _ = evaluation.run(timestep=0, agent_or_model=Model(), env=env)
    assert set(metrics) == set(env.library.names)
    now = env.worlds.physics.qpos, env.worlds.frame, env.worlds.motion
    assert all(torch.equal(one, other) for one, other in zip(now, state, strict=True))
    evaluation.close()
    env.close()


def test_a_policy_is_asked_as_in_a_run():
    evaluation = TrackingEvaluation(cfg(physics="warp"))
    policy = load_policy(AgentCfg(name="mirror", policy="tracking/mirror"), evaluation.spaces())
    metrics, log = evaluation.run(timestep=0, agent_or_model=policy)
    assert log["emd"] == pytest.approx(np.mean([row["emd"] for row in metrics.values()]))
    evaluation.close()


def test_what_cannot_be_done_is_measured_as_nan():
    class Wild(Model):
        def act(self, obs: Any, z: Any, mean: bool = True) -> Any:
            wanted = super().act(obs, z, mean)
            wanted[0, 0] = torch.nan
            return wanted

    evaluation = TrackingEvaluation(cfg(physics="warp"))
    metrics, log = evaluation.run(timestep=0, agent_or_model=Wild())
    assert sorted(np.isnan([row["emd"] for row in metrics.values()])) == [False, True]
    assert log["emd#missing"] == 1
    evaluation.close()
