"""Forwards of a fixed shape, recorded once and replayed on a GPU.

A denoiser of ten steps is a thousand small kernels. Launched one by one they keep the processor busy and the GPU
waiting, and two stages compete for the interpreter. Because a stage always has the same rows (`pad_to`), its forward
can be recorded as a CUDA graph and started with one call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

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
