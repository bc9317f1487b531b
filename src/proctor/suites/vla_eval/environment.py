"""A task of a vla-eval benchmark as an environment. For any interpreter that has vla-eval (Python 3.8 on).

Made as vla-eval's own runner makes it: the renderer chosen, the class constructed with its `kwargs`, the task taken
from `get_tasks()`. A trial is `start_episode({**task, "episode_idx": index})`; the index goes round where the benchmark
says how many episodes a task has. The classes take no seed for an episode, only one in `kwargs`, so a trial's own seed
goes to the global generators of python, numpy and torch, from which some of them draw.

A step is `apply_action({"actions": float32 vector})`, then `is_done`. What `get_result` says at the end of an episode,
by `is_done` or by the step limit, is the trial's success; it is not asked before. Its other numbers are the signals
`result/NAME`, NaN until then. The reward is that of a `StepBenchmark`, else 0: the protocol has none.

Observations of vla-eval's, which are open dicts, become flat dicts with fixed entries:

- `images: {NAME: array}` becomes `image/NAME`, the array as it is; other nested dicts become `KEY/NAME`;
- `task_description` becomes `instruction`, and like every text uint8 (length,), UTF-8 with zeros behind;
- arrays stay as they are, numbers become arrays without axes, a truth value becomes uint8 0 or 1.

Which entries there are, with their shapes, the first observation of a benchmark says.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.generators import seed_generators
from proctor.suites.vla_eval import benchmarks
from proctor.texts import text_to_bytes
from proctor_host import spaces
from proctor_host.environments import Env, Step
from proctor_host.values import flag, number

MAX_STEPS = 300
"""Of an episode whose benchmark names no limit: vla-eval's own."""
SUCCESS = "success"


def make(options: Any, *, render: bool, worlds: int) -> Env:
    """The environment of a task; `options` as in VlaEvalOptions."""
    try:
        return VlaEvalEnv(options)
    except benchmarks.Problem as problem:
        raise InputError(str(problem)) from None


class VlaEvalEnv(Env):
    """One benchmark with one of its tasks. The first episode is begun when this is made: nothing else says what
    observations look like."""

    def __init__(self, options: Any):
        from vla_eval.recording import NullEpisodeRecorder  # pyright: ignore[reportMissingImports]

        self._options, self._no_recorder = options, NullEpisodeRecorder
        self._loop = asyncio.new_event_loop()
        self._used, self._steps, self._episode = False, 0, 0
        self._said: Mapping[str, Any] = {}
        self.benchmark: Any = None
        try:
            self._open()
            self._metrics = sorted(key for key in self.benchmark.get_metric_keys() if key != SUCCESS)
            about = dict(self.benchmark.get_metadata())
            self.max_steps = int(about.get("max_steps") or MAX_STEPS)
            self.initial_states = int(about["max_episodes_per_task"]) if about.get("max_episodes_per_task") else None
            self.action_space = action_space(self.benchmark, about, options.action)
            self._reader = Reader(options, self._begin(0, 0))
            self.observation_space = self._reader.space
            self._check_video()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        options = self._options
        self.benchmark = benchmarks.build(options.benchmark, plain_data(options.kwargs), options.render_backend)
        self.task = benchmarks.pick(benchmarks.tasks_of(self.benchmark), plain_data(options.task))

    def reset(self, seed: int, index: int) -> Any:
        if self._used and self._options.fresh:
            self.benchmark.cleanup()
            self._open()
        self._used = True
        return self._reader.read(self._begin(seed, index), ended=False)

    def _begin(self, seed: int, index: int) -> Mapping[str, Any]:
        self._steps = 0
        self._episode = index if self.initial_states is None else index % self.initial_states
        seed_generators(seed % 2**32)
        self._said = self._wait(self._started({**self.task, "episode_idx": self._episode}))
        return self._said

    async def _started(self, task: Mapping[str, Any]) -> Mapping[str, Any]:
        await self.benchmark.start_episode(task, recorder=self._no_recorder())
        return await self.benchmark.get_observation()

    def step(self, action: Any) -> Step:
        self._steps += 1
        done, observation = self._wait(self._stepped({"actions": np.array(action, np.float32)}))
        last = done or self._steps >= (self.step_limit or self.max_steps or MAX_STEPS)
        result = self._wait(self.benchmark.get_result()) if last else {}
        success = last and flag('get_result()["success"]', result.get(SUCCESS))
        signals = {"result/" + name: number(name, result.get(name, np.nan)) for name in self._metrics}
        return Step(self._reader.read(observation, ended=last), self._reward(), done, False, success, signals)

    async def _stepped(self, action: Mapping[str, Any]) -> tuple[bool, Mapping[str, Any]]:
        await self.benchmark.apply_action(action)
        done = flag("is_done()", await self.benchmark.is_done())
        return done, await self.benchmark.get_observation()

    def _reward(self) -> float:
        from vla_eval.benchmarks.base import StepBenchmark  # pyright: ignore[reportMissingImports]

        if not isinstance(self.benchmark, StepBenchmark):
            return 0.0
        return number("reward", self.benchmark._last_result.reward)

    def constants(self) -> Mapping[str, Any]:
        """`task`: its name; `episode_idx`: which of its episodes; `instruction`: what the first observation says."""
        named = {"task": str(self.task.get("name", self._options.task)), "episode_idx": self._episode}
        told = self._said.get(DESCRIPTION)
        return dict(named, instruction=told) if isinstance(told, str) else named

    def render(self) -> np.ndarray:
        """An image of the last observation; where it has none, what the benchmark draws."""
        images = self._reader.images()
        name = self._options.video_image or next(iter(images), None)
        frame = self.benchmark.render() if name is None else images[name]
        if frame is None:
            raise NotImplementedError(f"{self._options.benchmark} shows no image")
        frame = np.asarray(frame)
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] not in (3, 4):
            raise ValueError(f"found a frame of {frame.dtype} {frame.shape}; expected uint8 (height, width, 3)")
        return np.ascontiguousarray(frame[:, :, :3])

    def close(self) -> None:
        benchmark, self.benchmark = self.benchmark, None
        try:
            if benchmark is not None:
                benchmark.cleanup()
        finally:
            self._loop.close()

    def _check_video(self) -> None:
        wanted, there = self._options.video_image, list(self._reader.images())
        if wanted is not None and wanted not in there:
            raise InputError(f"found video_image: {wanted}; the images are {names_of(there)}")

    def _wait(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)


def action_space(benchmark: Any, about: Mapping[str, Any], given: Any) -> Any:
    """A Box of float32. From the option `action`, else from the declared components, one after the other, with their
    ranges; else from `action_dim` of the metadata, without bounds. Raises InputError where nobody says."""
    if given is not None:
        low, high = given.low, given.high
        return _box(given.size, -np.inf if low is None else low, np.inf if high is None else high)
    try:
        parts = list(benchmark.get_action_spec().values())
    except NotImplementedError:
        parts = []
    if parts and all(part.dims > 0 for part in parts):
        lows: list[float] = []
        highs: list[float] = []
        for part in parts:
            low, high = part.range or (-np.inf, np.inf)
            lows += [low] * part.dims
            highs += [high] * part.dims
        return _box(len(lows), lows, highs)
    if about.get("action_dim"):
        return _box(int(about["action_dim"]), -np.inf, np.inf)
    name = type(benchmark).__name__
    raise InputError(f"{name} does not say how many numbers its actions have; write action: {{size: N}}")


def _box(size: int, low: Any, high: Any) -> Any:
    full = [np.broadcast_to(np.asarray(bound, np.float32), (size,)).copy() for bound in (low, high)]
    return spaces.Box(full[0], full[1], (size,), np.float32)


def plain_data(value: Any) -> Any:
    """Options as plain data, whatever they came as: dicts, or objects with attributes."""
    if isinstance(value, Mapping):
        return {key: plain_data(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(item) for item in value]
    return plain_data(vars(value)) if hasattr(value, "__dict__") else value


IMAGES, IMAGE = "images", "image/"
DESCRIPTION, INSTRUCTION = "task_description", "instruction"
TEXT, FLAG, ARRAY = "text", "flag", "array"


class Reader:
    """Reads observations as the first one of their benchmark was. `options` as in VlaEvalOptions."""

    def __init__(self, options: Any, first: Mapping[str, Any]):
        self._text_bytes, self._missing = options.text_bytes, options.missing
        self._left_out, self._flags = frozenset(options.leave_out), frozenset(options.flags)
        self._kinds: dict[str, str] = {}
        found: dict[str, np.ndarray] = {}
        for name, value in self._flat(first):
            self._kinds[name] = _kind(name, value)
            found[name] = self._value(name, value)
        for name in options.flags:
            self._kinds[name] = FLAG
            found.setdefault(name, np.zeros((), np.uint8))
        if not found:
            raise InputError("the benchmark's first observation has no entries")
        self._last = found
        parts = OrderedDict((name, _space(self._kinds[name], value)) for name, value in found.items())
        self.space = spaces.Dict(parts)

    def read(self, observation: Mapping[str, Any], ended: bool) -> dict[str, np.ndarray]:
        """The entries of an observation. At an end an entry may be missing, which then is as it was last. Raises
        ValueError where something is missing before, or of another shape."""
        given = dict(self._flat(observation))
        found: dict[str, np.ndarray] = {}
        for name, before in self._last.items():
            if name in given:
                found[name] = self._fitting(name, self._value(name, given[name]), before)
            elif self._kinds[name] == FLAG:
                found[name] = np.zeros((), np.uint8)
            elif ended or self._missing == "last":
                found[name] = before
            else:
                raise ValueError(
                    f'the observation has no "{name}", which the first one had; if that is meant, the task can say '
                    "missing: last"
                )
        self._last = found
        return found

    def images(self) -> dict[str, np.ndarray]:
        """The images of the last observation, without their prefix."""
        return {name[len(IMAGE) :]: value for name, value in self._last.items() if name.startswith(IMAGE)}

    def _flat(self, observation: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for key, value in observation.items():
            if key in self._left_out:
                continue
            if not isinstance(value, Mapping):
                yield (INSTRUCTION if key == DESCRIPTION else key), value
                continue
            prefix = IMAGE if key == IMAGES else key + "/"
            for inner, part in value.items():
                if prefix + inner not in self._left_out:
                    yield prefix + inner, part

    def _value(self, name: str, value: Any) -> np.ndarray:
        if isinstance(value, str):
            return text_to_bytes(value, self._text_bytes)
        if isinstance(value, (bool, np.bool_)):
            return np.asarray(value, np.uint8)
        return np.asarray(value)

    def _fitting(self, name: str, value: np.ndarray, before: np.ndarray) -> np.ndarray:
        if value.shape != before.shape or not np.can_cast(value.dtype, before.dtype, "same_kind"):
            found, expected = f"{value.dtype} {value.shape}", f"{before.dtype} {before.shape}"
            raise ValueError(f'the observation "{name}" is {found}; in the first observation it was {expected}')
        return value.astype(before.dtype, copy=False)


def _kind(name: str, value: Any) -> str:
    if isinstance(value, str):
        return TEXT
    if isinstance(value, (bool, np.bool_)):
        return FLAG
    found = None if isinstance(value, (Mapping, bytes)) or value is None else _as_array(value)
    if found is None or found.dtype.kind not in "iuf":
        what = type(value).__name__ if found is None else f"{type(value).__name__} of {found.dtype}"
        raise InputError(
            f'the observation "{name}" is a {what}; expected arrays, numbers or text. Leave it out: leave_out: [{name}]'
        )
    return ARRAY


def _as_array(value: Any) -> Any:
    """None for lists of lists of unequal length."""
    try:
        return np.asarray(value)
    except ValueError:
        return None


def _space(kind: str, value: np.ndarray) -> Any:
    if kind == FLAG:
        return spaces.Box(0, 1, value.shape, np.uint8)
    if value.dtype.kind == "f":
        return spaces.Box(-np.inf, np.inf, value.shape, value.dtype.type)
    limits = np.iinfo(value.dtype)
    return spaces.Box(limits.min, limits.max, value.shape, value.dtype.type)


def names_of(images: Sequence[str]) -> str:
    """Names of images for people."""
    return ", ".join(images) or "none"
