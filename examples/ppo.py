"""PPO in torch, for worlds whose arrays stay on their device: the learner of train_tracking.py.

N worlds, A entries of what the actor sees, C of what the critic sees, J of an action. Nothing in an iteration waits for
the device but its last line, which brings the iteration's figures to the host.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import torch
from torch import nn

LONGEST = 10.0
"""Normalised entries are clipped to plus and minus this."""
LEAST_STD = 0.01
"""Added to the spread of an entry, so that one which hardly ever changes is not blown up."""


@dataclass(frozen=True)
class LearningCfg:
    """How is learned. The numbers are those that are usual for robots with thousands of worlds."""

    horizon: int = 24
    epochs: int = 5
    minibatches: int = 4
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    entropy: float = 0.002
    value_weight: float = 1.0
    learning_rate: float = 2e-4
    kl: float = 0.02
    """Wanted divergence of a new policy from the one that acted: the learning rate follows it."""
    largest_gradient: float = 1.0
    first_std: float = 0.3
    hidden: tuple[int, ...] = (512, 256, 128)


class Seen(NamedTuple):
    """(n, A) and (n, C): what the actor and the critic see. The worlds may write to it in their next step."""

    actor: torch.Tensor
    critic: torch.Tensor


class Stepped(NamedTuple):
    """After a step of all worlds. `terminated` and `truncated` (n,) bool: the episode is over, with nothing to come or
    only for us; `last` is what the critic sees there. `seen` is what is seen now, in worlds whose episode is over that
    of the next one."""

    reward: torch.Tensor
    terminated: torch.Tensor
    truncated: torch.Tensor
    last: torch.Tensor
    seen: Seen


class Worlds(Protocol):
    """What can be learned in."""

    n: int
    action_size: int
    device: torch.device

    def start(self) -> Seen: ...

    def step(self, actions: torch.Tensor) -> Stepped: ...


class Normaliser(nn.Module):
    """Entries minus their mean, by their spread, over all that was shown to `learn`."""

    mean: torch.Tensor
    var: torch.Tensor
    count: torch.Tensor

    def __init__(self, size: int):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("var", torch.ones(size))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        scaled = (rows - self.mean) / (self.var.sqrt() + LEAST_STD)
        return scaled.clamp(-LONGEST, LONGEST)

    @torch.no_grad()
    def learn(self, rows: torch.Tensor) -> None:
        """Add rows (k, size) to what is known."""
        k = float(len(rows))
        share = k / (self.count + k)
        var, mean = torch.var_mean(rows, dim=0, correction=0)
        apart = mean - self.mean
        self.var.add_(share * (var - self.var + (1 - share) * apart * apart))
        self.mean.add_(share * apart)
        self.count.add_(k)


def network(inputs: int, hidden: tuple[int, ...], outputs: int, gain: float) -> nn.Sequential:
    """Linear layers with ELU between them. The last one is as good as zero where `gain` is small."""
    sizes, layers = (inputs, *hidden), []
    for before, after in itertools.pairwise(sizes):
        layer = nn.Linear(before, after)
        nn.init.orthogonal_(layer.weight, math.sqrt(2))
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.ELU()]
    last = nn.Linear(sizes[-1], outputs)
    nn.init.orthogonal_(last.weight, gain)
    nn.init.zeros_(last.bias)
    return nn.Sequential(*layers, last)


class Actor(nn.Module):
    """A Gaussian whose mean is a network's answer, and whose spread is the same everywhere. It begins at zero."""

    def __init__(self, inputs: int, outputs: int, cfg: LearningCfg):
        super().__init__()
        self.normaliser = Normaliser(inputs)
        self.layers = network(inputs, cfg.hidden, outputs, 0.0)
        self.log_std = nn.Parameter(torch.full((outputs,), math.log(cfg.first_std)))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.layers(self.normaliser(rows))


class Critic(nn.Module):
    """What is still to come."""

    def __init__(self, inputs: int, cfg: LearningCfg):
        super().__init__()
        self.normaliser = Normaliser(inputs)
        self.layers = network(inputs, cfg.hidden, 1, 1.0)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.layers(self.normaliser(rows)).squeeze(-1)


def log_likelihood(actions: torch.Tensor, mean: torch.Tensor, log_std: torch.Tensor) -> torch.Tensor:
    """(n,), up to a constant."""
    return -(0.5 * ((actions - mean) / log_std.exp()).square() + log_std).sum(dim=-1)


def divergence(mean: torch.Tensor, log_std: torch.Tensor, old_mean: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
    """Kullback and Leibler's, of the old Gaussians from the new ones: its mean over all rows."""
    spread = ((2 * old).exp() + (old_mean - mean).square()) / (2 * (2 * log_std).exp())
    return (log_std - old + spread - 0.5).sum(dim=-1).mean()


@dataclass
class Rollout:
    """(T, n, ...): what was seen and done in T steps."""

    actor: torch.Tensor
    critic: torch.Tensor
    last: torch.Tensor
    actions: torch.Tensor
    means: torch.Tensor
    reward: torch.Tensor
    terminated: torch.Tensor
    over: torch.Tensor

    @staticmethod
    def room(steps: int, n: int, sizes: tuple[int, int, int], device: torch.device) -> Rollout:
        def rows(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
            return torch.zeros((steps, n, *shape), dtype=dtype, device=device)

        actor, critic, joints = sizes
        flags = (rows(dtype=torch.bool), rows(dtype=torch.bool))
        return Rollout(rows(actor), rows(critic), rows(critic), rows(joints), rows(joints), rows(), *flags)


def advantages(rollout: Rollout, values: torch.Tensor, after: torch.Tensor, cfg: LearningCfg) -> torch.Tensor:
    """Generalised advantages (T, n) of `values` (T, n) of what was seen and `after` (T, n) of what it led to. An
    episode that was cut for us alone goes on in its last value."""
    found, running = torch.zeros_like(values), torch.zeros_like(values[0])
    gains = rollout.reward + cfg.gamma * after * ~rollout.terminated - values
    going_on = cfg.gamma * cfg.lam * ~rollout.over
    for t in range(len(values) - 1, -1, -1):
        running = gains[t] + going_on[t] * running
        found[t] = running
    return found


@dataclass
class Learner:
    """Learns in `worlds`. `iterate` acts for `horizon` steps in all of them and learns from that."""

    worlds: Worlds
    cfg: LearningCfg = field(default_factory=LearningCfg)

    def __post_init__(self) -> None:
        worlds, cfg = self.worlds, self.cfg
        self._seen = worlds.start()
        sizes = (self._seen.actor.shape[1], self._seen.critic.shape[1], worlds.action_size)
        self.actor = Actor(sizes[0], sizes[2], cfg).to(worlds.device)
        self.critic = Critic(sizes[1], cfg).to(worlds.device)
        self._rate = torch.tensor(cfg.learning_rate, device=worlds.device)
        parameters = [*self.actor.parameters(), *self.critic.parameters()]
        self._adam = torch.optim.Adam(parameters, lr=self._rate, fused=True)
        self._use_rate()
        self._rollout = Rollout.room(cfg.horizon, worlds.n, sizes, worlds.device)
        self.steps = 0
        """Of all worlds together."""

    @torch.no_grad()
    def act(self) -> None:
        """Fill the rollout."""
        held, std = self._rollout, self.actor.log_std.exp()
        for t in range(self.cfg.horizon):
            held.actor[t], held.critic[t] = self._seen
            mean = self.actor(held.actor[t])
            torch.addcmul(mean, std, torch.randn_like(mean), out=held.actions[t])
            held.means[t] = mean
            stepped = self.worlds.step(held.actions[t])
            held.reward[t], held.terminated[t], held.last[t] = stepped.reward, stepped.terminated, stepped.last
            torch.logical_or(stepped.terminated, stepped.truncated, out=held.over[t])
            self._seen = stepped.seen
        self.steps += self.cfg.horizon * self.worlds.n

    def warm_up(self) -> None:
        """Act, and learn nothing but how large the entries are."""
        self.act()
        self._look()

    def _look(self) -> None:
        self.actor.normaliser.learn(self._rollout.actor.flatten(0, 1))
        self.critic.normaliser.learn(self._rollout.critic.flatten(0, 1))

    def iterate(self) -> dict[str, float]:
        """Act and learn. What is normalised how is learned last: the same numbers hold where it acted and where it
        learns from that. The figures wait for the device."""
        self.act()
        figures = self._update()
        self._look()
        figures["reward"] = self._rollout.reward.mean()
        return dict(zip(figures, torch.stack(list(figures.values())).tolist(), strict=True))

    def _update(self) -> dict[str, torch.Tensor]:
        held, cfg = self._rollout, self.cfg
        with torch.no_grad():
            values, after = self.critic(held.critic), self.critic(held.last)
            gained = advantages(held, values, after, cfg)
            old = self.actor.log_std.detach().clone()
            rows = {
                "actor": held.actor.flatten(0, 1), "critic": held.critic.flatten(0, 1),
                "actions": held.actions.flatten(0, 1), "means": held.means.flatten(0, 1),
                "returns": (gained + values).flatten(),
                "gained": ((gained - gained.mean()) / (gained.std() + 1e-8)).flatten(),
            }  # fmt: skip
        total = torch.zeros(3, device=self.worlds.device)
        count, size = 0, len(rows["gained"]) // cfg.minibatches
        for _ in range(cfg.epochs):
            order = torch.randperm(size * cfg.minibatches, device=self.worlds.device)
            for chosen in order.split(size):
                total += self._learn({name: value[chosen] for name, value in rows.items()}, old)
                count += 1
        policy, value, kl = total / count
        std = self.actor.log_std.detach().exp().mean()
        return {"policy": policy, "value": value, "kl": kl, "std": std, "rate": self._rate.clone()}

    def _learn(self, rows: Mapping[str, torch.Tensor], old: torch.Tensor) -> torch.Tensor:
        """One step of the optimiser: the losses and the divergence, (3,)."""
        cfg, log_std = self.cfg, self.actor.log_std
        mean = self.actor(rows["actor"])
        with torch.no_grad():
            kl = divergence(mean, log_std, rows["means"], old)
            self._follow(kl)
        now = log_likelihood(rows["actions"], mean, log_std)
        ratio = (now - log_likelihood(rows["actions"], rows["means"], old)).exp()
        gained = rows["gained"]
        policy = -torch.minimum(ratio * gained, ratio.clamp(1 - cfg.clip, 1 + cfg.clip) * gained).mean()
        value = (self.critic(rows["critic"]) - rows["returns"]).square().mean()
        loss = policy + cfg.value_weight * value - cfg.entropy * log_std.sum()
        self._adam.zero_grad(set_to_none=True)
        loss.backward()
        for part in (self.actor, self.critic):
            nn.utils.clip_grad_norm_(part.parameters(), cfg.largest_gradient)
        self._adam.step()
        return torch.stack([policy.detach(), value.detach(), kl])

    def _follow(self, kl: torch.Tensor) -> None:
        """Slower where the policy went too far from the one that acted, faster where it hardly moved."""
        factor = torch.where(kl > 2 * self.cfg.kl, 1 / 1.5, torch.where(kl < self.cfg.kl / 2, 1.5, 1.0))
        self._rate.mul_(factor).clamp_(1e-5, 5e-3)

    def _use_rate(self) -> None:
        """The optimiser reads this tensor, whose value follows the divergence."""
        for group in self._adam.param_groups:
            group["lr"] = self._rate

    def state(self) -> dict[str, Any]:
        """All that was learned, on the host; `restore` goes on from it."""
        found = {"actor": self.actor.state_dict(), "critic": self.critic.state_dict(), "adam": self._adam.state_dict()}
        return to_host(found) | {"rate": float(self._rate), "steps": self.steps}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.actor.load_state_dict(state["actor"])
        self.critic.load_state_dict(state["critic"])
        self._adam.load_state_dict(state["adam"])
        self._use_rate()
        self._rate.fill_(state["rate"])
        self.steps = state["steps"]


def to_host(value: Any) -> Any:
    """The same with copies of its tensors on the processor."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, Mapping):
        return {key: to_host(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(to_host(entry) for entry in value)
    return value
