"""The planner and the action expert.

Shapes, with B rows: `image` (B, 3, S, S) in [0, 1]; `tokens` (B, L) with `mask` (B, L), True where a word is; `state`
and waypoints (B, 4) in the networks' units (`cfg.to_net`); `duration` (B,) as a share of the chunk.

No layer mixes rows: no batch statistics, no dropout, attention within a row.

A denoiser of ten steps is a thousand small kernels. Launched one by one they keep the processor busy and the GPU
waiting, and two stages compete for the interpreter. Because a stage always has the same rows (`pad_to`), its forward
can be recorded as a CUDA graph and started with one call (`Replayed`).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention, softplus

from proctor.suites.metaworld.waypoint_flow.cfg import STATE_DIM, NetCfg, TrunkCfg


class Block(nn.Module):
    """Attention and a two-layer perceptron, each on a normalised copy that is added back."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        """x (B, N, width); `seen` (B, 1, 1, N) is True where a place may be looked at."""
        rows, places, width = x.shape
        qkv = self.qkv(self.before_attention(x)).view(rows, places, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        attended = scaled_dot_product_attention(q, k, v, attn_mask=seen)
        x = x + self.out(attended.transpose(1, 2).reshape(rows, places, width))
        return x + self.mlp(self.before_mlp(x))


class Eye(nn.Module):
    """An image as places for the trunk: one for each 8x8 patch, and one that says where in the image each of `width`
    features is (a soft argmax)."""

    def __init__(self, size: int, width: int):
        super().__init__()
        half = max(8, width // 2)
        self.fine = nn.Sequential(
            nn.Conv2d(3, half, 5, stride=2, padding=2),
            nn.GELU(),
            nn.Conv2d(half, half, 3, stride=2, padding=1),
            nn.GELU(),
            nn.Conv2d(half, width, 3, padding=1),
        )
        self.coarse = nn.Sequential(nn.GELU(), nn.Conv2d(width, width, 3, stride=2, padding=1))
        self.where = nn.Linear(2 * width, width)
        self.place = nn.Parameter(torch.randn((size // 8) ** 2 + 1, width) * 0.02)
        self.sharpness = nn.Parameter(torch.ones(width, 1))

    def forward(self, image: Tensor) -> Tensor:
        fine = self.fine(image - 0.5)
        patches = self.coarse(fine).flatten(2).transpose(1, 2)
        return torch.cat([patches, self.where(self._positions(fine))[:, None]], dim=1) + self.place

    def _positions(self, fine: Tensor) -> Tensor:
        """Where each feature is, x and y in [-1, 1]: (B, 2 width)."""
        height, width = fine.shape[-2:]
        share = (fine.flatten(2) * softplus(self.sharpness)).softmax(-1).view_as(fine)
        across = torch.linspace(-1, 1, width, device=fine.device, dtype=fine.dtype)
        down = torch.linspace(-1, 1, height, device=fine.device, dtype=fine.dtype)
        return torch.cat([(share.sum(2) * across).sum(-1), (share.sum(3) * down).sum(-1)], dim=-1)


class Trunk(nn.Module):
    """Image, instruction, `vectors` (B, V, dim) and learned questions in; the answers (B, questions, width) out."""

    def __init__(self, cfg: NetCfg, size: TrunkCfg, vector_dim: int, questions: int):
        super().__init__()
        self.questions = questions
        self.eye = Eye(cfg.image_size, size.width)
        self.words = nn.Embedding(cfg.vocabulary, size.width)
        self.order = nn.Parameter(torch.randn(cfg.tokens, size.width) * 0.02)
        self.vectors = nn.Linear(vector_dim, size.width)
        self.asked = nn.Parameter(torch.randn(questions, size.width))
        self.blocks = nn.ModuleList(Block(size.width, size.heads) for _ in range(size.depth))
        self.norm = nn.LayerNorm(size.width)

    def forward(self, image: Tensor, tokens: Tensor, mask: Tensor, vectors: Tensor) -> Tensor:
        asked = self.asked.expand(len(image), -1, -1)
        told = torch.cat([self.eye(image), self.vectors(vectors), asked], dim=1)
        x = torch.cat([self.words(tokens) + self.order, told], dim=1)
        seen = torch.cat([mask, mask.new_ones(told.shape[:2])], dim=1)[:, None, None]
        for block in self.blocks:
            x = block(x, seen)
        return self.norm(x[:, -self.questions :])


class Planner(nn.Module):
    """Waypoints ahead of the robot."""

    def __init__(self, cfg: NetCfg):
        super().__init__()
        self.trunk = Trunk(cfg, cfg.planner, STATE_DIM, cfg.waypoints)
        self.head = nn.Linear(cfg.planner.width, STATE_DIM + 1)

    def forward(self, image: Tensor, tokens: Tensor, mask: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Waypoints (B, K, 4) and durations (B, K) as shares of a chunk, at most 0 where the plan has ended."""
        answers = self.head(self.trunk(image, tokens, mask, state[:, None]))
        return state[:, None] + answers[..., :STATE_DIM], answers[..., STATE_DIM]


class Expert(nn.Module):
    """Action chunks by flow matching: a velocity field that carries noise at time 0 to actions at time 1."""

    def __init__(self, cfg: NetCfg):
        super().__init__()
        self.cfg = cfg
        self.shape = (cfg.chunk, cfg.action_dim)
        way = 4 * STATE_DIM + 1
        self.trunk = Trunk(cfg, cfg.expert, way, 1)
        flat, width = cfg.chunk * cfg.action_dim, cfg.denoiser_width
        self.context = nn.Linear(cfg.expert.width + way, width)
        self.enter, self.leave = nn.Linear(flat, width), nn.Linear(width, flat)
        self.layers = nn.ModuleList(Layer(width) for _ in range(cfg.denoiser_depth))

    def look(self, image: Tensor, tokens: Tensor, mask: Tensor, way: Tensor) -> Tensor:
        """What a chunk depends on, beside noise and time: (B, denoiser_width). `way` as `way_of` makes it."""
        scene = self.trunk(image, tokens, mask, way[:, None])[:, 0]
        return self.context(torch.cat([scene, way], dim=-1))

    def velocity(self, actions: Tensor, time: Tensor, context: Tensor) -> Tensor:
        """The field (B, chunk, action_dim) at `actions` and `time` (B,) in [0, 1]."""
        guide = context + clock(time, context.shape[-1]).to(context.dtype)
        x = self.enter(actions.flatten(1))
        for layer in self.layers:
            x = layer(x, guide)
        return self.leave(x).view_as(actions)

    def denoise(self, noise: Tensor, context: Tensor) -> Tensor:
        """Actions (B, chunk, action_dim), by Euler steps from `noise`."""
        actions, steps = noise, self.cfg.denoising_steps
        for step in range(steps):
            time = actions.new_full((len(actions),), step / steps)
            actions = actions + self.velocity(actions, time, context) / steps
        return actions


class Layer(nn.Module):
    """A residual perceptron that is shifted, scaled and gated by a guide."""

    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.guide = nn.Sequential(nn.SiLU(), nn.Linear(width, 3 * width))
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor, guide: Tensor) -> Tensor:
        scale, shift, gate = self.guide(guide).chunk(3, dim=-1)
        return x + gate * self.mlp(self.norm(x) * (1 + scale) + shift)


def way_of(state: Tensor, start: Tensor, end: Tensor, duration: Tensor) -> Tensor:
    """What the expert is told of its way, (B, 17): where the robot is, where the leg starts and ends, how far it is."""
    return torch.cat([state, start, end, end - state, duration[:, None]], dim=-1)


def clock(time: Tensor, width: int) -> Tensor:
    """A time (B,) in [0, 1] as sines and cosines (B, width) of many frequencies."""
    frequencies = torch.exp(torch.linspace(0.0, math.log(1000.0), width // 2, device=time.device))
    angles = time.float()[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class Nets(nn.Module):
    """Both networks of a policy: what a checkpoint holds."""

    def __init__(self, cfg: NetCfg):
        super().__init__()
        self.cfg = cfg
        self.planner, self.expert = Planner(cfg), Expert(cfg)


Forward = Callable[..., Any]

_RECORDING = threading.Lock()
WARM_UPS = 2


class Replayed:
    """`forward`, whose arguments and answers are tensors (one, or a tuple of them). On a GPU it is recorded for each
    set of shapes when it is first seen; elsewhere it is called as it is. Answers are copies."""

    def __init__(self, forward: Forward):
        self._forward = forward
        self._recorded: dict[tuple[Any, ...], _Recording] = {}

    def __call__(self, *inputs: Tensor) -> Any:
        if inputs[0].device.type != "cuda":
            with torch.inference_mode():
                return self._forward(*inputs)
        key = tuple((tensor.shape, tensor.dtype) for tensor in inputs)
        with _RECORDING:
            if key not in self._recorded:
                self._recorded[key] = _Recording(self._forward, inputs)
            return self._recorded[key].replay(inputs)


class _Recording:
    """One graph, with the tensors that it reads and writes."""

    def __init__(self, forward: Forward, inputs: tuple[Tensor, ...]):
        self._inputs = [tensor.clone() for tensor in inputs]
        self._graph = torch.cuda.CUDAGraph()
        with torch.no_grad():
            aside = torch.cuda.Stream()
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                for _ in range(WARM_UPS):
                    forward(*self._inputs)
            torch.cuda.current_stream().wait_stream(aside)
            with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
                self._answer = forward(*self._inputs)

    def replay(self, inputs: tuple[Tensor, ...]) -> Any:
        for own, given in zip(self._inputs, inputs, strict=True):
            own.copy_(given)
        self._graph.replay()
        if isinstance(self._answer, tuple):
            return tuple(part.clone() for part in self._answer)
        return self._answer.clone()
