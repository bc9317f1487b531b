"""The learner of the tracking example: its laws, and a small problem that it has to solve."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the learner of examples/train_tracking.py needs torch")

from proctor.registry import import_file  # noqa: E402 - it needs torch

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(scope="module")
def ppo() -> Iterator[Any]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield import_file(EXAMPLES / "ppo.py")
    torch.set_num_threads(threads)


class Rods:
    """N rods that fall over unless they are pushed: angle and its rate, a torque as the action. An episode is over
    where a rod leans more than 0.8 rad, and is cut after 100 steps. Nobody holds a rod upright by chance."""

    action_size, steps = 1, 100

    def __init__(self, ppo: Any, n: int):
        self.n, self.device, self._ppo = n, torch.device("cpu"), ppo
        self.state, self.age = torch.zeros(n, 2), torch.zeros(n, dtype=torch.int64)
        self.falls = 0

    def start(self) -> Any:
        self._begin(torch.ones(self.n, dtype=torch.bool))
        self.age = torch.randint(self.steps, (self.n,))
        return self._seen()

    def _begin(self, mask: Any) -> None:
        self.state = torch.where(mask[:, None], torch.empty(self.n, 2).uniform_(-0.2, 0.2), self.state)
        self.age = self.age.masked_fill(mask, 0)

    def _seen(self) -> Any:
        return self._ppo.Seen(self.state.clone(), self.state.clone())

    def step(self, actions: Any) -> Any:
        angle, rate = self.state.unbind(1)
        rate = rate + 0.05 * (6.0 * angle.sin() + 4.0 * actions[:, 0].clamp(-1, 1))
        self.state = torch.stack([angle + 0.05 * rate, rate], dim=1)
        self.age += 1
        down = self.state[:, 0].abs() > 0.8
        cut = (self.age >= self.steps) & ~down
        last, reward = self.state.clone(), self.state[:, 0].cos() * 0.1
        self.falls += int(down.sum())
        self._begin(down | cut)
        return self._ppo.Stepped(reward, down, cut, last, self._seen())


def test_it_learns_to_hold_a_rod_upright(ppo: Any) -> None:
    torch.manual_seed(0)
    worlds = Rods(ppo, 128)
    learner = ppo.Learner(worlds, ppo.LearningCfg(hidden=(32, 32)))
    for _ in range(5):
        learner.warm_up()
    before = worlds.falls
    for _ in range(40):
        learner.iterate()
    worlds.falls = 0
    for _ in range(5):
        learner.act()
    assert before > 300
    assert worlds.falls < 10


def test_advantages_by_hand(ppo: Any) -> None:
    """Two worlds, three steps: the first one's episode ends in the second step, the other's is cut there."""
    cfg = ppo.LearningCfg(gamma=0.5, lam=0.5)
    held = ppo.Rollout.room(3, 2, (1, 1, 1), torch.device("cpu"))
    held.reward[:] = 1.0
    held.terminated[1, 0] = held.over[1, 0] = held.over[1, 1] = True
    values, after = torch.zeros(3, 2), torch.full((3, 2), 4.0)
    found = ppo.advantages(held, values, after, cfg)
    # gains: 1 + 0.5 * 4 = 3, where nothing is to come 1
    assert found[2].tolist() == [3.0, 3.0]
    assert found[1].tolist() == [1.0, 3.0]
    assert found[0].tolist() == [3 + 0.25 * 1, 3 + 0.25 * 3]


def test_a_normaliser_knows_all_rows_however_they_come(ppo: Any) -> None:
    torch.manual_seed(1)
    rows = torch.randn(500, 3) * torch.tensor([1.0, 5.0, 0.1]) + torch.tensor([0.0, 100.0, -3.0])
    normaliser = ppo.Normaliser(3)
    for part in (rows[:10], rows[10:400], rows[400:]):
        normaliser.learn(part)
    torch.testing.assert_close(normaliser.mean, rows.mean(dim=0))
    torch.testing.assert_close(normaliser.var, rows.var(dim=0, correction=0), rtol=1e-4, atol=1e-6)


def test_likelihood_and_divergence_are_those_of_gaussians(ppo: Any) -> None:
    torch.manual_seed(2)
    mean, old_mean, actions = torch.randn(3, 5, 2).unbind()
    log_std, old = torch.tensor([-1.0, 0.3]), torch.tensor([-0.5, 0.1])
    new_one = torch.distributions.Normal(mean, log_std.exp())
    old_one = torch.distributions.Normal(old_mean, old.exp())
    ratio = ppo.log_likelihood(actions, mean, log_std) - ppo.log_likelihood(actions, old_mean, old)
    torch.testing.assert_close(ratio, (new_one.log_prob(actions) - old_one.log_prob(actions)).sum(dim=1))
    expected = torch.distributions.kl_divergence(old_one, new_one).sum(dim=1).mean()
    torch.testing.assert_close(ppo.divergence(mean, log_std, old_mean, old), expected)


def test_who_is_restored_learns_the_same(ppo: Any) -> None:
    def learner() -> Any:
        torch.manual_seed(3)
        made = ppo.Learner(Rods(ppo, 8), ppo.LearningCfg(hidden=(8,), horizon=4))
        made.warm_up()
        return made

    one, other = learner(), learner()
    one.iterate()
    kept = one.state()
    other.restore(kept)
    assert other.steps == one.steps == 64
    for each in (one, other):
        torch.manual_seed(4)
        each._seen = each.worlds.start()
        each.iterate()
    for mine, theirs in zip(one.actor.parameters(), other.actor.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)
    assert not torch.equal(kept["actor"]["layers.0.weight"], one.actor.layers[0].weight)


def test_a_policy_that_goes_too_far_is_slowed_down_and_one_that_stays_is_hastened(ppo: Any) -> None:
    """The optimiser goes by the learning rate that follows the divergence."""
    learner = ppo.Learner(Rods(ppo, 8), ppo.LearningCfg(hidden=(8,), horizon=4, learning_rate=1e-3, kl=0.01))
    for kl, rate in ((0.1, 1e-3 / 1.5), (0.015, 1e-3 / 1.5), (0.0, 1e-3), (0.0, 1.5e-3)):
        learner._follow(torch.tensor(kl))
        assert float(learner._rate) == pytest.approx(rate)
    layer = learner.actor.layers[-1].bias
    for rate in (1e-4, 1e-3):
        learner._rate.fill_(rate)
        learner._adam.state.clear()
        before = layer.detach().clone()
        layer.grad = torch.ones_like(layer)
        learner._adam.step()
        torch.testing.assert_close(before - layer.detach(), torch.full_like(layer, rate), rtol=1e-3, atol=0)
