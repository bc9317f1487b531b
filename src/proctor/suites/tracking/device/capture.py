"""Programs of fixed shapes, kept as CUDA graphs: the host then launches one thing instead of a hundred."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

WARM_UPS = 3
"""Calls before a program is captured, in which libraries allocate what they need."""


class Program:
    """A function of tensors that live as long as it does: it reads and writes them in place, and returns others. On a
    GPU it is captured by `capture`; what it returns is then the same memory every time."""

    def __init__(self, function: Callable[[], Any], device: torch.device):
        self._function, self._device = function, device
        self._graph: Any = None
        self._returned: Any = None

    def capture(self) -> None:
        """Run it a few times, and keep it. Its tensors are changed. Nothing happens where there is no GPU."""
        if self._device.type != "cuda":
            return
        stream = torch.cuda.Stream(self._device)
        stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(stream):
            for _ in range(WARM_UPS):
                self._function()
        torch.cuda.current_stream(self._device).wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            self._returned = self._function()
        self._graph = graph

    def __call__(self) -> Any:
        if self._graph is None:
            return self._function()
        self._graph.replay()
        return self._returned


def abreast(*functions: Callable[[], Any]) -> list[Any]:
    """What each of them returns. None of them depends on another one: in a program that is being captured they are
    branches of its graph, and a GPU with few worlds works on all of them at once."""
    if not torch.cuda.is_available() or not torch.cuda.is_current_stream_capturing():
        return [function() for function in functions]
    trunk = torch.cuda.current_stream()
    branches = [torch.cuda.Stream(trunk.device) for _ in functions]
    found = []
    for branch, function in zip(branches, functions, strict=True):
        branch.wait_stream(trunk)
        with torch.cuda.stream(branch):
            found.append(function())
    for branch in branches:
        trunk.wait_stream(branch)
    return found
