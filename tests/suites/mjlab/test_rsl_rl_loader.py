"""Checkpoints of rsl_rl: what the weights say, what `params/agent.yaml` adds, and what is refused. The checkpoints are
made here as rsl_rl writes them; test_genuine_mjlab_policies.py has real ones."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies import fingerprint, load_policy
from proctor.policies.protocol import Batch, SpaceInfo
from proctor.testing import PolicyConformance
from proctor_host.trials import Trial

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

OBSERVED, ACTIONS = 5, 2
NOTES = """\
obs_groups:
  actor: !!python/tuple
  - actor
clip_actions: null
actor:
  hidden_dims: !!python/tuple
  - 4
  - 3
  activation: elu
  distribution_cfg:
    class_name: GaussianDistribution
made_by: !!python/object/apply:os.system ["touch ran"]
"""
"""As mjlab writes it, and a tag that would run something."""


def network(*sizes: int) -> nn.Sequential:
    torch.manual_seed(1)
    parts: list[nn.Module] = []
    for taken, given in pairwise(sizes):
        parts += [nn.Linear(taken, given), nn.ELU()]
    return nn.Sequential(*parts[:-1])


def actor(*sizes: int, normalised: bool = True) -> tuple[nn.Sequential, dict[str, Any]]:
    """A network and its state as rsl_rl 5 keeps it."""
    inner = network(*sizes)
    state: dict[str, Any] = {f"mlp.{name}": value for name, value in inner.state_dict().items()}
    state["distribution.std_param"] = torch.ones(ACTIONS)
    if normalised:
        mean, std = torch.arange(float(sizes[0])), torch.full((1, sizes[0]), 2.0)
        state |= {"obs_normalizer._mean": mean[None], "obs_normalizer._std": std, "obs_normalizer._var": std**2}
        state["obs_normalizer.count"] = torch.tensor(9)
    return inner, state


def save(folder: Path, checkpoint: dict[str, Any], notes: str | None = NOTES) -> Path:
    if notes is not None:
        (folder / "params").mkdir(exist_ok=True)
        (folder / "params" / "agent.yaml").write_text(notes)
    torch.save(checkpoint, folder / "model_3.pt")
    return folder / "model_3.pt"


def box(count: int) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (count,), np.float32)


def load(path: Path, observation: Any = None, actions: int = ACTIONS, told: Any = None, **options: Any) -> Any:
    agent = AgentCfg(name="walker", policy="mjlab/rsl_rl", checkpoint=str(path), options=options)
    briefing = {} if told is None else {"task": lambda: told}
    info = SpaceInfo({"task": box(OBSERVED) if observation is None else observation}, {"task": box(actions)}, briefing)
    return load_policy(agent, info)


def batch(policy: Any, rows: int = 3, observation: Any = None) -> Batch:
    trials = [Trial("walker", "task", i, i) for i in range(rows)]
    seen = np.random.default_rng(0).standard_normal((rows, OBSERVED)).astype(np.float32)
    return Batch(seen if observation is None else observation, policy.reset(trials), [], trials)


def test_it_acts_by_the_mean_of_its_normalised_observation(tmp_path: Path) -> None:
    inner, state = actor(OBSERVED, 4, 3, ACTIONS)
    policy = load(save(tmp_path, {"actor_state_dict": state, "iter": 3, "infos": {"env_state": {"steps": 7}}}))
    given = batch(policy)
    with torch.no_grad():
        wanted = inner((torch.from_numpy(given.observation) - torch.arange(5.0)) / 2.01).numpy()
    np.testing.assert_allclose(policy.act(given).actions, wanted, rtol=0, atol=1e-6)
    assert not (tmp_path / "ran").exists()
    assert not Path("ran").exists()


def test_older_checkpoints_are_read_by_their_names(tmp_path: Path) -> None:
    """rsl_rl 3 keeps actor and critic together; 2 keeps the normaliser beside both."""
    _, new = actor(OBSERVED, 4, 3, ACTIONS)
    expected = load(save(tmp_path, {"actor_state_dict": new}))
    older = {name.replace("mlp.", "actor."): value for name, value in new.items() if name.startswith("mlp.")}
    older |= {"critic.0.weight": torch.ones(1, OBSERVED), "std": torch.ones(ACTIONS)}
    normaliser = {name: value for name, value in new.items() if name.startswith("obs_normalizer.")}
    three = older | {f"actor_{name}": value for name, value in normaliser.items()}
    two = {name.partition(".")[2]: value for name, value in normaliser.items()}
    notes = "policy:\n  activation: elu\n  class_name: ActorCritic\nclip_actions: null\n"
    for checkpoint in ({"model_state_dict": three}, {"model_state_dict": older, "obs_norm_state_dict": two}):
        policy = load(save(tmp_path, checkpoint, notes))
        assert np.array_equal(policy.act(batch(policy)).actions, expected.act(batch(expected)).actions)


def test_options_take_the_place_of_the_notes(tmp_path: Path) -> None:
    _, state = actor(OBSERVED, 4, 3, ACTIONS)
    path = save(tmp_path, {"actor_state_dict": state})
    one, other = load(path), load(path, activation="relu", clip_actions=0.1)
    free, held = (policy.act(batch(policy)).actions for policy in (one, other))
    assert not np.allclose(free, held)
    assert np.abs(held).max() <= np.float32(0.1)
    clipped = save(tmp_path, {"actor_state_dict": state}, NOTES.replace("clip_actions: null", "clip_actions: 0.1"))
    assert np.abs(load(clipped).act(batch(one)).actions).max() <= np.float32(0.1)
    assert np.array_equal(load(clipped, clip_actions=None).act(batch(one)).actions, free)


def test_groups_are_put_together_in_the_actors_order(tmp_path: Path) -> None:
    _, state = actor(OBSERVED, 4, 3, ACTIONS)
    path = save(tmp_path, {"actor_state_dict": state}, NOTES.replace("  - actor", "  - seen\n  - told"))
    apart = spaces.Dict({"told": box(2), "seen": box(3)})
    policy, whole = load(path, apart), load(path)
    given = batch(policy)
    seen = {"told": given.observation[:, 3:], "seen": given.observation[:, :3]}
    answer = policy.act(batch(policy, observation=seen))
    assert np.array_equal(answer.actions, whole.act(given).actions)


def test_a_memory_belongs_to_its_trial(tmp_path: Path) -> None:
    """Rows in another order come out the same, and a trial that begins anew forgets."""
    memory, (_, state) = nn.LSTM(OBSERVED, 4, 2), actor(4, 3, ACTIONS, normalised=False)
    state |= {f"rnn.rnn.{name}": value for name, value in memory.state_dict().items()}
    policy = load(save(tmp_path, {"actor_state_dict": state}))
    given = batch(policy)
    first = policy.act(given)
    second = policy.act(Batch(given.observation, first.state, [], given.trials))
    assert not np.allclose(first.actions, second.actions)
    swapped = tuple(part[::-1] for part in first.state)
    again = policy.act(Batch(given.observation[::-1].copy(), swapped, [], given.trials[::-1]))
    np.testing.assert_allclose(again.actions[::-1], second.actions, rtol=0, atol=1e-6)
    np.testing.assert_allclose(policy.act(given).actions, first.actions, rtol=0, atol=0)


def test_tensors_are_answered_with_tensors(tmp_path: Path) -> None:
    """Beside worlds on its device."""
    _, state = actor(OBSERVED, 4, 3, ACTIONS)
    policy = load(save(tmp_path, {"actor_state_dict": state}))
    assert policy.device == "cpu"
    given = batch(policy)
    answer = policy.act(Batch(torch.from_numpy(given.observation), None, [], given.trials)).actions
    assert isinstance(answer, torch.Tensor)
    assert np.array_equal(answer.numpy(), policy.act(given).actions)


def test_the_notes_decide_how_it_acts(tmp_path: Path) -> None:
    _, state = actor(OBSERVED, 4, 3, ACTIONS)
    path = save(tmp_path, {"actor_state_dict": state})
    agent = AgentCfg(name="walker", policy="mjlab/rsl_rl", checkpoint=str(path))
    before = fingerprint(agent)
    assert set(before) == {"checkpoint", "params/agent.yaml"}
    save(tmp_path, {"actor_state_dict": state}, NOTES.replace("elu", "tanh"))
    assert fingerprint(agent) != before


CNN = {"cnn_latent_dim": torch.ones(1), "cnns.image.0.weight": torch.ones(1)}


@pytest.mark.parametrize(
    ("checkpoint", "notes", "options", "said"),
    [
        ({"weights": {}}, NOTES, {}, "is no checkpoint of rsl_rl: expected actor_state_dict in it, found weights"),
        ({"student_state_dict": {}}, NOTES, {}, "a student is exported to ONNX or TorchScript by its runner"),
        ({"model_state_dict": {"student.0.weight": torch.ones(1)}}, NOTES, {}, "a student and its teacher"),
        (
            CNN,
            NOTES,
            {},
            "the actor has an image encoder (cnn_latent_dim, cnns.image.0.weight); supported are actors of",
        ),
        ({"attention.weight": torch.ones(1)}, NOTES, {}, "the actor has parts that are not known (attention.weight)"),
        ({"mlp.2.weight": torch.ones(2, 9)}, NOTES, {}, "the actor's layers do not follow one another"),
        ({}, None, {}, "there is no params/agent.yaml beside it that says what stands between the actor's layers"),
        ({}, NOTES.replace("elu", "sine"), {}, 'params/agent.yaml says activation "sine"; known are elu'),
        ({}, "[1, 2]", {}, "holds a list; expected the runner's config"),
        ({}, "a: [", {}, "cannot be read as YAML"),
        ({}, NOTES.replace("Gaussian", "Cauchy"), {}, "actions are drawn from a CauchyDistribution; supported are"),
        ({}, NOTES, {"distribution": "beta"}, "gives 2 numbers; the distribution beta of 2 actions takes 4"),
    ],
)
def test_what_cannot_be_built_is_refused(
    tmp_path: Path, checkpoint: dict[str, Any], notes: str | None, options: dict[str, Any], said: str
) -> None:
    if not any(key.endswith("state_dict") or key == "weights" for key in checkpoint):
        checkpoint = {"actor_state_dict": actor(OBSERVED, 4, 3, ACTIONS)[1] | checkpoint}
    with pytest.raises(InputError) as caught:
        load(save(tmp_path, checkpoint, notes), **options)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("observation", "actions", "said"),
    [
        (
            box(6),
            2,
            'the network observes 5 numbers (5 -> 4 -> 3 -> 2); task "task" shows (6,) (position 2, velocity 4)',
        ),
        (box(5), 3, 'the network gives 2 numbers (5 -> 4 -> 3 -> 2); task "task" takes 3 actions'),
        (box(5), 1, "there is no params/agent.yaml beside it that says of which distribution"),
        (spaces.Dict({"eye": box(5)}), 2, 'the actor sees the observation groups actor; task "task" shows eye'),
    ],
)
def test_a_task_that_does_not_fit_is_named(tmp_path: Path, observation: Any, actions: int, said: str) -> None:
    notes = NOTES.replace("    class_name: GaussianDistribution\n", "    other: 1\n")
    path = save(tmp_path, {"actor_state_dict": actor(OBSERVED, 4, 3, ACTIONS)[1]}, notes)
    told = {"terms": [{"name": "position", "size": 2}, {"name": "velocity", "size": 4}]}
    with pytest.raises(InputError) as caught:
        load(path, observation, actions, told)
    assert str(caught.value).startswith('agent "walker": ')
    assert said in str(caught.value)


def test_a_file_that_would_run_code_is_refused(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "ran",)

    torch.save({"actor_state_dict": Evil()}, tmp_path / "model_3.pt")
    with pytest.raises(InputError, match="it holds more than tensors and plain containers"):
        load(tmp_path / "model_3.pt")
    assert not (tmp_path / "ran").exists()


class TestConformance(PolicyConformance):
    """Of a network as large as mjlab's smallest. In narrow ones the last bits depend on a row's place."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.path = save(tmp_path, {"actor_state_dict": actor(OBSERVED, 64, 64, ACTIONS)[1]})

    observation_space = box(OBSERVED)
    action_space = box(ACTIONS)

    def make(self) -> Any:
        return load(self.path)
