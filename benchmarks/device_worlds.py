"""Device rounds against the bare loop: how much of a simulator's speed is left with a policy and with records.

    python -m benchmarks.device_worlds [--device cuda:0] [--worlds 1024 4096 16384] [--env synthetic] [--repeats 3]
    python -m benchmarks.device_worlds --trials 100000      # memory over many short trials

For each number of worlds three sides take turns, `--repeats` times: `bare`, the environment stepped with one action
(its captured graph, where it has `captured()`); `loop`, a forward of the policy (3 layers of 512) and a step, nothing
looked at and nothing kept; and `engine`, a run as a user starts it, with every signal recorded. A recorded step counts,
rounds of worlds that wait for their next trial do not. The middle half of a run's rounds is measured, and beside it the
whole run, from its first round until its last record is on disk.

`--env MODULE:NAME` names a function of (worlds, device) that makes a `DeviceEnv`; `--config FILE` takes the first task
of a config. `synthetic` is a program of torch whose step takes `--step-ms`, with joints, root and bodies as signals
(1.1 kB for each world and step) and episodes of `--steps`.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box

from benchmarks.folders import run_folder
from benchmarks.table import machine
from proctor import Policy, config_from_dict, load_config, run_evaluation, suites
from proctor.policies.protocol import Batch
from proctor.registry import import_object
from proctor.suites.protocol import Columns, DeviceEnv, Suite, SuiteOptions
from proctor.threads import pinned
from proctor_host.device_group import DeviceGroup
from proctor_host.flights import Flight

NOTES = "PROCTOR_BENCHMARK_NOTES"
"""The file to which a worker process writes what it does, as an environment variable."""
SEEN, DONE = 160, 29
SIGNALS = {"joint_pos": (29,), "joint_vel": (29,), "root": (13,), "body_pos": (30, 3), "body_quat": (30, 4)}
WIDTH = 256


class SyntheticOptions(SuiteOptions):
    env: str = "synthetic"
    device: str = "cpu"
    step_ms: float = 3.0
    shortest: int = 150
    longest: int = 450
    products: int | None = None
    """How many a step has; None: as many as take `step_ms`."""


class Synthetic(DeviceEnv):
    """Matrix products for as long as a step shall take; everything that is shown and recorded follows from them."""

    def __init__(self, options: SyntheticOptions, worlds: int):
        import torch

        self._torch, self.device, self.num_worlds = torch, options.device, worlds
        self.observation_space = Box(-np.inf, np.inf, (SEEN,), np.float32)
        self.action_space = Box(-1.0, 1.0, (DONE,), np.float32)
        self.max_steps, self.action_dt_s = options.longest, 0.02
        self._options = options
        device = torch.device(options.device)
        self._state = torch.zeros(worlds, WIDTH, device=device)
        self._actions = torch.zeros(worlds, DONE, device=device)
        self._age = torch.zeros(worlds, dtype=torch.int64, device=device)
        self._length = torch.ones(worlds, dtype=torch.int64, device=device)
        generator = torch.Generator().manual_seed(0)
        self._weights = (torch.randn(WIDTH, WIDTH, generator=generator) / WIDTH**0.5).to(device)
        self._never = torch.zeros(worlds, dtype=torch.bool, device=device)
        self._out: Any = None
        self._graph: Any = None
        self.products = options.products or self._as_many_as_take(options.step_ms / 1e3)
        if device.type == "cuda":
            self._capture()

    def _as_many_as_take(self, seconds: float) -> int:
        count = 4
        while True:
            self.products, tries = count, []
            for _ in range(4):
                began = time.perf_counter()
                self._step()
                self._wait()
                tries.append(time.perf_counter() - began)
            took = min(tries)
            if took > 0.5 * seconds or count > 100_000:
                return max(1, round(count * seconds / took))
            count *= 2

    def _wait(self) -> None:
        if self._torch.device(self.device).type == "cuda":
            self._torch.cuda.synchronize()

    def _step(self) -> None:
        torch, state = self._torch, self._state
        state[:, :DONE] += self._actions
        for _ in range(self.products):
            state = torch.tanh(state @ self._weights)
        self._state.copy_(state)
        self._age += 1
        kept, at = {}, 0
        for name, shape in SIGNALS.items():
            size = int(np.prod(shape))
            column = torch.arange(at, at + size, device=state.device) % WIDTH
            kept[name], at = self._state[:, column].reshape(-1, *shape), at + size
        self._out = self._state[:, :SEEN].contiguous(), self._state[:, 0].clone(), self._age >= self._length, kept

    def _capture(self) -> None:
        torch = self._torch
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._step()
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._step()

    def captured(self) -> None:
        """A step with the last actions."""
        if self._graph is None:
            self._step()
        else:
            self._graph.replay()

    def begin_device(self, worlds: np.ndarray, seeds: Sequence[int], indices: Sequence[int]) -> Any:
        torch, device = self._torch, self.device
        span = self._options.longest - self._options.shortest + 1
        starts = np.array([np.random.default_rng(seed).integers(0, 2**31, 2) for seed in seeds])
        where = torch.as_tensor(worlds).to(device, non_blocking=True)
        lengths = torch.from_numpy(self._options.shortest + starts[:, 0] % span).to(device, non_blocking=True)
        self._state[where] = torch.from_numpy(starts[:, 1:] / 2**31).to(device, torch.float32, non_blocking=True)
        self._length[where], self._age[where] = lengths, 0
        return self._state[:, :SEEN].contiguous()

    def step_device(self, actions: Any) -> Columns:
        self._actions.copy_(actions)
        self.captured()
        seen, reward, ended, kept = self._out
        return Columns(seen, reward, ended, self._never, self._never, kept)


class GivenSuite(Suite):
    """The environment that the command names."""

    name: ClassVar[str] = "given"
    Options: ClassVar[type[SuiteOptions]] = SyntheticOptions
    seeds_matter: ClassVar[bool] = True

    def task_name(self, options: SyntheticOptions) -> str:
        return "worlds"

    def is_batch(self, options: SyntheticOptions) -> bool:
        return True

    def make(self, options: SyntheticOptions, *, render: bool, worlds: int) -> Any:
        if options.env == "synthetic":
            return Synthetic(options, worlds)
        return import_object(options.env)(worlds, options.device)


class Layers(Policy):
    """Three layers of 512 of torch."""

    def __init__(self, spaces: Any, device: str):
        import torch
        from torch import nn

        seen, done = (next(iter(some.values())) for some in (spaces.observation, spaces.action))
        self.device, self._torch = device, torch
        torch.manual_seed(0)
        size = sum(int(np.prod(space.shape)) for space in (seen.spaces.values() if hasattr(seen, "spaces") else [seen]))
        sizes = [size, 512, 512, 512]
        layers = [part for one, two in pairwise(sizes) for part in (nn.Linear(one, two), nn.ELU())]
        self._net = nn.Sequential(*layers, nn.Linear(512, int(np.prod(done.shape))), nn.Tanh()).to(device).eval()
        if NOTES in os.environ:
            note_down(os.environ[NOTES])

    def ask(self, observation: Any) -> Any:
        """Actions for rows that lie on the device."""
        torch = self._torch
        parts = list(observation.values()) if isinstance(observation, dict) else [observation]
        with torch.inference_mode():
            flat = [part.reshape(len(part), -1).to(torch.float32) for part in parts]
            return self._net(flat[0] if len(flat) == 1 else torch.cat(flat, 1))

    def act(self, batch: Batch) -> Any:
        seen = batch.observation
        arrays = seen.values() if isinstance(seen, dict) else [seen]
        if all(isinstance(array, self._torch.Tensor) for array in arrays):
            return self.ask(seen)
        put = self._torch.as_tensor
        given = {k: put(v, device=self.device) for k, v in seen.items()} if isinstance(seen, dict) else put(seen)
        return self.ask(given if isinstance(given, dict) else given.to(self.device)).cpu().numpy()


@dataclass
class Measured:
    """What a run of the engine did, round by round."""

    at: list[float] = field(default_factory=list)
    """When each round was queued."""
    spans: list[tuple[int, int]] = field(default_factory=list)
    """From which round to which a trial's steps go."""
    queueing_s: float = 0.0
    """Spent on the stepping thread to queue rounds: what must stay below a step."""
    full: int = 0
    """How often rounds stood still, since records were written too slowly."""

    def steady(self) -> float:
        """Recorded steps per second in the middle half of the rounds."""
        rounds = len(self.at)
        alive = np.zeros(rounds + 1)
        for first, stop in self.spans:
            alive[first] += 1
            alive[stop] -= 1
        low, high = rounds // 4, 3 * rounds // 4
        return float(np.cumsum(alive)[low:high].sum()) / (self.at[high] - self.at[low])


def note_down(file: str) -> None:
    """In the process that steps the worlds: write what device rounds do to this file, twice a second."""
    noted = Watching().__enter__()

    def follow() -> None:
        while True:
            time.sleep(0.5)
            if noted.at:  # the engine's process has the policy, too, and steps nothing
                Path(f"{file}.new").write_bytes(pickle.dumps(noted))
                os.replace(f"{file}.new", file)

    threading.Thread(target=follow, daemon=True).start()


class Watching:
    """Within, device rounds note what they do."""

    def __enter__(self) -> Measured:
        found = Measured()
        self._before = DeviceGroup._queue, DeviceGroup._land, DeviceGroup._has_room
        queue, land, room = self._before

        def queued(group: DeviceGroup) -> int:
            began = time.perf_counter()
            found.at.append(began)
            made = queue(group)
            found.queueing_s += time.perf_counter() - began
            return made

        def landed(group: DeviceGroup, flight: Flight, outcome: Any, error: Any, stop: int) -> None:
            found.spans.append((flight.first + group.task.cfg.wait_steps, stop))
            land(group, flight, outcome, error, stop)

        def has_room(group: DeviceGroup) -> bool:
            free = room.fget(group)  # type: ignore[misc]
            found.full += not free
            return free

        DeviceGroup._queue, DeviceGroup._land = queued, landed  # type: ignore[method-assign]
        DeviceGroup._has_room = property(has_room)  # type: ignore[assignment]
        return found

    def __exit__(self, *_: Any) -> None:
        DeviceGroup._queue, DeviceGroup._land, DeviceGroup._has_room = self._before  # type: ignore[assignment]


@dataclass(frozen=True)
class Setting:
    """What is compared."""

    device: str
    worlds: int
    task: dict[str, Any]
    trials: int
    record: dict[str, Any]
    workers: Any = "inline"

    def config(self, folder: str) -> dict[str, Any]:
        return {
            "agents": [{"name": "layers", "policy": "benchmarks.device_worlds:Layers", "device": self.device}],
            "tasks": [{**self.task, "n_trials": self.trials}],
            "num_parallel": self.worlds,
            "workers": self.workers,
            "record": self.record,
            "report": {"pictures": False},
            "output_root": folder,
        }


def engine(setting: Setting, progress: Callable[[Any], None] | None = None) -> tuple[Measured, float, int]:
    """A run: what was noted, the seconds from its first round to its last record, and how many steps it recorded."""
    ended = 0.0

    def follow(state: Any) -> None:
        nonlocal ended
        if state.phase == "running":
            ended = time.perf_counter()
        if progress is not None:
            progress(state)

    with run_folder() as folder, Watching() as noted:
        notes = Path(folder) / "notes"
        if setting.workers != "inline":
            os.environ[NOTES] = str(notes)
        run = run_evaluation(config_from_dict(setting.config(str(folder))), progress=follow)
        results = list(run.results())
        if notes.exists():
            noted = pickle.loads(notes.read_bytes())
    assert len(results) == setting.trials
    if faults := [result.error or "" for result in results if not result.outcome.scored]:
        raise SystemExit(f"{len(faults)} of {len(results)} trials broke; the first: {faults[0]}")
    steps = sum(result.steps_total or 0 for result in results)
    if not noted.at:
        raise SystemExit(f"the run took no device rounds; its log says why: {run.path / 'run.log'}")
    return noted, ended - noted.at[0], steps


def bare(env: DeviceEnv, policy: Layers, rounds: int) -> tuple[float, float]:
    """Steps per second of the environment alone, and with a policy."""
    import torch

    def wait() -> None:
        if torch.device(env.device).type == "cuda":
            torch.cuda.synchronize()

    def timed(turn: Callable[[], None]) -> float:
        for _ in range(3):
            turn()
        wait()
        began = time.perf_counter()
        for _ in range(rounds):
            turn()
        wait()
        return rounds * env.num_worlds / (time.perf_counter() - began)

    every = np.arange(env.num_worlds)
    seen = env.begin_device(every, every.tolist(), every.tolist())
    held = policy.ask(seen).clone()

    def alone() -> None:
        env.step_device(held)

    def both() -> None:
        nonlocal seen
        seen = env.step_device(policy.ask(seen)).observation

    return timed(getattr(env, "captured", alone)), timed(both)


def compare(setting: Setting, rounds: int, repeats: int) -> str:
    """A row of the table: medians of the turns."""
    from proctor.config.models import TaskCfg
    from proctor.policies.protocol import SpaceInfo

    options = {**setting.task.get("options", {})}
    task = TaskCfg.model_validate({**setting.task, "name": setting.task.get("name", "worlds"), "options": options})
    env = suites.make_env(task.suite, task.options, render=False, worlds=setting.worlds)
    assert isinstance(env, DeviceEnv)
    if hasattr(env, "products"):  # both sides have the same step, however busy the machine was when it was timed
        same = {**options, "products": getattr(env, "products", None)}
        setting = replace(setting, task={**setting.task, "options": same})
    policy = Layers(SpaceInfo({"worlds": env.observation_space}, {"worlds": env.action_space}), setting.device)
    alone, loops, steadies, wholes, queueing, full = [], [], [], [], [], 0
    for _ in range(repeats):
        with pinned():  # as many numeric threads as the engine has
            one, two = bare(env, policy, rounds)
        noted, seconds, steps = engine(setting)
        alone.append(one)
        loops.append(two)
        steadies.append(noted.steady())
        wholes.append(steps / seconds)
        queueing.append(1e3 * noted.queueing_s / len(noted.at))
        full += noted.full
    env.close()
    graph, loop, steady, whole = map(median, (alone, loops, steadies, wholes))
    return (
        f"| {setting.worlds} | {graph:,.0f} | {loop:,.0f} | {steady:,.0f} | {steady / graph:.0%} | {steady / loop:.0%} "
        f"| {whole:,.0f} | {median(queueing):.2f} | {full} |"
    )


def on_device() -> int:
    """Bytes of the GPU that torch holds."""
    import torch

    return torch.cuda.memory_reserved()


def memory(setting: Setting) -> None:
    """What the process holds while many short trials go by."""
    held: list[tuple[int, float]] = []
    page = os.sysconf("SC_PAGE_SIZE")

    def look(state: Any) -> None:
        with open("/proc/self/statm") as file:
            mib = int(file.read().split()[1]) * page / 2**20
        if not held or state.done >= held[-1][0] + setting.trials // 20:
            held.append((state.done, mib))
            more = f", {on_device() / 2**20:.1f} MiB on the device" if setting.device != "cpu" else ""
            print(f"{state.done:>9} trials {mib:9.1f} MiB, {threading.active_count()} threads{more}", flush=True)

    noted, seconds, steps = engine(setting, look)
    half = [mib for done, mib in held if done >= setting.trials // 2] or [held[-1][1]]
    print(f"{setting.trials} trials, {steps} steps in {seconds:.1f} s: {steps / seconds:,.0f} steps/s")
    print(f"the second half grew by {half[-1] - half[0]:.1f} MiB; rounds stood still {noted.full} times")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.device_worlds")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--worlds", type=int, nargs="+", default=[64])
    parser.add_argument("--env", default="synthetic")
    parser.add_argument("--config", help="the first task of this config, in the place of --env")
    parser.add_argument("--step-ms", type=float, default=3.0)
    parser.add_argument("--steps", type=int, nargs=2, default=(150, 450), metavar=("SHORTEST", "LONGEST"))
    parser.add_argument("--each", type=int, default=4, help="trials for each world")
    parser.add_argument("--rounds", type=int, default=300, help="of the bare sides")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--record", choices=("series", "summary"), default="series")
    parser.add_argument("--workers", choices=("inline", "auto"), default="inline", help="auto: as a run takes them")
    parser.add_argument("--trials", type=int, help="measure memory over so many trials, of 5 to 15 steps")
    given = parser.parse_args(arguments)
    shortest, longest = (5, 15) if given.trials else given.steps
    options = {
        "env": given.env, "device": given.device, "step_ms": given.step_ms, "shortest": shortest, "longest": longest,
    }  # fmt: skip
    workers = "inline" if given.workers == "inline" else "auto"
    task: dict[str, Any] = {"suite": "benchmarks.device_worlds:GivenSuite", "name": "worlds", "options": options}
    if given.config:
        first = load_config(given.config).tasks[0]
        task = {"suite": first.suite, "name": "worlds", "options": dict(first.options)}
    record = {"level": given.record}
    if given.trials:
        memory(Setting(given.device, given.worlds[0], task, given.trials, record))
        return
    print(f"{machine()}, {given.device}; steps/s\n")
    print("| worlds | bare | loop | engine | of bare | of loop | whole run | queueing a round (ms) | stood still |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for worlds in given.worlds:
        setting = Setting(given.device, worlds, task, worlds * given.each, record, workers)
        print(compare(setting, given.rounds, given.repeats), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
