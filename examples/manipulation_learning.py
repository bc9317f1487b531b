"""How `train_manipulation.py` learns from demonstrations: the planner by regression, the expert by flow matching.

Everything is drawn from one torch generator on the device, so a seed gives the same weights on the same machine.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import torch
from manipulation_demos import Demos, targets_of
from torch import Tensor
from torch.nn.functional import smooth_l1_loss

from proctor.policies import LeftPad, left_pad
from proctor.suites.metaworld import NetCfg, Nets, to_net, way_of, word_tokens

Report = Callable[[str], None]


@dataclass(frozen=True)
class LearningCfg:
    """`steps` updates of `batch` images each. `held_out`: the share of demonstrations that are only looked at."""

    steps: int = 4_000
    batch: int = 512
    rate: float = 1e-3
    warm_up: int = 300
    decay: float = 0.02
    average: float = 0.998
    held_out: float = 0.06
    seed: int = 0
    state_noise: float = 0.01
    """Standard deviations in the networks' units (0.3 m): of where the robot is said to be,"""
    way_noise: float = 0.025
    """and of where its way starts and ends."""


@dataclass(frozen=True)
class Examples:
    """Tensors on a device, one row per image: the entries of `Targets` in the networks' units, images as bytes."""

    image: Tensor
    tokens: Tensor
    mask: Tensor
    state: Tensor
    waypoints: Tensor
    durations: Tensor
    chunk: Tensor
    ahead: Tensor
    left: Tensor
    behind: Tensor

    def __len__(self) -> int:
        return len(self.image)

    def take(self, rows: Tensor) -> Examples:
        return Examples(*(getattr(self, field.name)[rows] for field in fields(self)))


def examples_of(demos: Demos, cfg: NetCfg, device: str) -> Examples:
    """All images with an action ahead."""
    targets = targets_of(demos, cfg)
    told = [word_tokens(str(demos.instructions[task]), cfg.vocabulary) for task in demos.task]
    tokens, mask = left_pad([told[demo] for demo in demos.frame_demo], LeftPad(cfg.tokens))
    arrays = (
        demos.image.transpose(0, 3, 1, 2), tokens, mask, to_net(targets.state, cfg), to_net(targets.waypoints, cfg),
        (targets.durations / cfg.chunk).astype(np.float32), targets.chunk, to_net(targets.ahead, cfg),
        targets.left, to_net(targets.behind, cfg),
    )  # fmt: skip
    return Examples(*(torch.from_numpy(np.ascontiguousarray(array[targets.left > 0])).to(device) for array in arrays))


def fit(demos: Demos, net: NetCfg, cfg: LearningCfg, device: str, report: Report = print) -> Nets:
    """Networks that imitate the demonstrations: a running average of the weights. What they make of the demonstrations
    that were held out is reported as they learn."""
    chance = Chance(torch.Generator(device).manual_seed(cfg.seed), cfg)
    seen, unseen = _split(demos, net, cfg, device)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(cfg.seed)
        nets = Nets(net).to(device)
    average = copy.deepcopy(nets).eval()
    optimiser = torch.optim.AdamW(nets.parameters(), lr=cfg.rate, weight_decay=cfg.decay, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _pace(step, cfg))
    for step in range(1, cfg.steps + 1):
        rows = torch.randint(len(seen), (cfg.batch,), device=device, generator=chance.generator)
        with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=device != "cpu"):
            planner_loss, expert_loss = losses(nets, seen.take(rows), chance)
        optimiser.zero_grad(set_to_none=True)
        (planner_loss + expert_loss).backward()
        torch.nn.utils.clip_grad_norm_(nets.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        _follow(average, nets, min(cfg.average, step / (step + 10)))
        if step % max(1, cfg.steps // 12) == 0:
            errors = "" if len(unseen) == 0 else "; held out: " + measured(average, unseen, chance)
            report(f"step {step}: planner {planner_loss.item():.4f}, expert {expert_loss.item():.4f}{errors}")
    return average


def _split(demos: Demos, net: NetCfg, cfg: LearningCfg, device: str) -> tuple[Examples, Examples]:
    """Images of the demonstrations to learn from, and of the last ones, which are held out."""
    first_unseen = len(demos) - round(cfg.held_out * len(demos))
    has_action = demos.frame_step < demos.length[demos.frame_demo]
    unseen = torch.from_numpy((demos.frame_demo >= first_unseen)[has_action]).to(device)
    examples = examples_of(demos, net, device)
    return examples.take(~unseen), examples.take(unseen)


@torch.no_grad()
def _follow(average: Nets, nets: Nets, keep: float) -> None:
    for slow, fast in zip(average.parameters(), nets.parameters(), strict=True):
        slow.lerp_(fast, 1 - keep)


def _pace(step: int, cfg: LearningCfg) -> float:
    """The share of the learning rate: a short rise, then half a cosine down."""
    if step < cfg.warm_up:
        return (step + 1) / cfg.warm_up
    return 0.5 * (1 + math.cos(math.pi * min(1.0, step / cfg.steps)))


@dataclass(frozen=True)
class Chance:
    """What is drawn while learning, all of it from one generator."""

    generator: torch.Generator
    cfg: LearningCfg

    def normal(self, like: Tensor) -> Tensor:
        return torch.randn(like.shape, device=like.device, generator=self.generator)

    def uniform(self, like: Tensor) -> Tensor:
        return torch.rand(like.shape, device=like.device, generator=self.generator)

    def other_light(self, image: Tensor) -> Tensor:
        """Images in [0, 1], each a little brighter or darker, with more or less contrast, and some grain."""
        one = image[:, :1, :1, :1]
        light, contrast = (0.1 * (self.uniform(one) - 0.5) for _ in range(2))
        return ((image.float() / 255 - 0.5) * (1 + contrast) + 0.5 + light + 0.01 * self.normal(image)).clamp(0, 1)

    def way_lengths(self, rows: Examples, chunk: int) -> Tensor:
        """Steps (B,) of the ways to learn: half end at the next waypoint, half anywhere within a chunk."""
        longest = rows.left.clamp(max=chunk)
        anywhere = 1 + (self.uniform(rows.left) * longest).long()
        next_waypoint = (rows.durations[:, 0] * chunk).round().long()
        return torch.where(self.uniform(rows.left) < 0.5, next_waypoint, anywhere).clamp(min=1).minimum(longest)


def losses(nets: Nets, rows: Examples, chance: Chance) -> tuple[Tensor, Tensor]:
    """The planner's and the expert's loss on these rows."""
    image = chance.other_light(rows.image)
    state = rows.state + chance.cfg.state_noise * chance.normal(rows.state)
    return _planner_loss(nets, rows, image, state), _expert_loss(nets, rows, (image, state), chance)


def _planner_loss(nets: Nets, rows: Examples, image: Tensor, state: Tensor) -> Tensor:
    waypoints, durations = nets.planner(image, rows.tokens, rows.mask, state)
    there = (rows.durations > 0).float()
    off = smooth_l1_loss(waypoints, rows.waypoints, beta=0.05, reduction="none").mean(-1)
    late = smooth_l1_loss(durations, rows.durations, beta=0.1, reduction="none")
    return (off * there).sum() / there.sum() + 0.3 * late.mean()


def _expert_loss(nets: Nets, rows: Examples, seen: tuple[Tensor, Tensor], chance: Chance) -> Tensor:
    """Flow matching: from noise at time 0 to the chunk at time 1 on a straight line, whose direction is to be told at
    any time between."""
    (image, state), chunk = seen, nets.cfg.chunk
    steps = chance.way_lengths(rows, chunk)
    end = rows.ahead[torch.arange(len(rows), device=steps.device), steps - 1]
    start = torch.where(chance.uniform(state[:, :1]) < 0.5, rows.behind, rows.state)
    start, end = (at + chance.cfg.way_noise * chance.normal(at) for at in (start, end))
    context = nets.expert.look(image, rows.tokens, rows.mask, way_of(state, start, end, steps / chunk))
    time, noise = chance.uniform(state[:, 0]), chance.normal(rows.chunk)
    at = noise + time[:, None, None] * (rows.chunk - noise)
    error = (nets.expert.velocity(at, time, context) - (rows.chunk - noise)).square().mean(-1)
    counted = (torch.arange(chunk, device=steps.device) < steps[:, None]).float()
    return (error * counted).sum() / counted.sum()


@torch.inference_mode()
def measured(nets: Nets, rows: Examples, chance: Chance) -> str:
    """How far off waypoints, durations and actions are."""
    image = rows.image.float() / 255
    waypoints, durations = nets.planner(image, rows.tokens, rows.mask, rows.state)
    there = rows.durations > 0
    scale = torch.tensor(nets.cfg.scale, device=image.device)[:3]
    off = ((waypoints - rows.waypoints)[..., :3] * scale).norm(dim=-1)
    late = (durations - rows.durations).abs() * nets.cfg.chunk
    chunk = nets.cfg.chunk
    steps = (rows.durations[:, 0] * chunk).round().long().clamp(1, chunk)
    way = way_of(rows.state, rows.behind, rows.waypoints[:, 0], steps / chunk)
    actions = nets.expert.denoise(chance.normal(rows.chunk), nets.expert.look(image, rows.tokens, rows.mask, way))
    counted = torch.arange(chunk, device=steps.device) < steps[:, None]
    wrong = (actions - rows.chunk).abs().mean(-1)[counted].mean().item()
    by_place = ", ".join(f"{100 * off[:, k][there[:, k]].mean().item():.1f}" for k in range(off.shape[1]))
    return f"waypoints {by_place} cm, durations {late.mean().item():.2f} steps, actions {wrong:.3f}"
