"""Two bare processes that begin together: what the machine gives without any harness."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from typing import Any

PROCESSES = 2
Make = Callable[[], Any]
Play = Callable[[Any, int], object]


def rates(loop: Callable[..., None], steps: int, *arguments: Any) -> dict[str, float]:
    """Steps per second of `loop(*arguments, barrier, spans)` in both processes together, `steps` in each: `steady`
    while both work (the sum of their rates, so that neither pays for the other's later end), `whole` from when the
    processes are made. `loop` gets ready, waits at the barrier, and puts (start, end) by `time.perf_counter` into
    `spans`."""
    context = multiprocessing.get_context("spawn")
    barrier, spans = context.Barrier(PROCESSES), context.Queue()
    processes = [context.Process(target=loop, args=(*arguments, barrier, spans)) for _ in range(PROCESSES)]
    launched = time.perf_counter()
    for process in processes:
        process.start()
    measured = [spans.get() for _ in processes]
    for process in processes:
        process.join()
    steady = sum(steps / (end - start) for start, end in measured)
    return {"steady": steady, "whole": PROCESSES * steps / (time.perf_counter() - launched)}


def episode_rates(make: Make, play: Play, episodes: int, steps: int) -> dict[str, float]:
    """Of environments that are played one episode of `steps` after the other; the first one does not count."""
    return rates(_episodes, episodes * steps, make, play, episodes)


def _episodes(make: Make, play: Play, episodes: int, barrier: Any, spans: Any) -> None:
    env = make()
    play(env, 0)
    barrier.wait()
    started = time.perf_counter()
    for episode in range(episodes):
        play(env, episode)
    spans.put((started, time.perf_counter()))
