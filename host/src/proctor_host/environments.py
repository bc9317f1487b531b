"""What an environment is.

`Env` is one world; `BatchEnv` steps N worlds in one call, `ColumnEnv` gives what that came to as arrays, and with
`DeviceEnv` these stay on the device where the worlds are. All are thin: they know nothing of agents, slots or
recording. `reset(seed, index)` starts a trial: the same arguments give the same episode, in a fresh
environment or in one that has been used (else the suite says `reusable = False` and gets a fresh one for each
trial). `index` is the explicit initial-state index, for environments that have such.

A `Step` is what one step gave: the observation after it (on the last step the terminal one, never that of an
automatic reset), reward, the two end flags, the success flag of this step, and the recorded signals by name.

Spaces are those of `proctor_host.spaces`, of Gymnasium, or of Gym.
"""

from __future__ import annotations

import abc
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np

from proctor_host.arrays import placed, to_host
from proctor_host.sheet import HEAD, Sheet
from proctor_host.spaces import neutral_action
from proctor_host.values import flag

NO_SIGNALS: Mapping[str, Any] = {}


class Step(NamedTuple):
    """What one step of a world gave. `success`: the goal holds now. `signals` are recorded beside the reward."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    success: bool
    signals: Mapping[str, Any] = NO_SIGNALS


class Columns(NamedTuple):
    """A step of k worlds: the fields of `Step`, each an array `(k, ...)`, the observation one array or a flat dict of
    them. A `ColumnEnv` gives arrays of numpy, a `DeviceEnv` those of its device."""

    observation: Any
    reward: Any
    terminated: Any
    truncated: Any
    success: Any
    signals: dict[str, Any]


class Env(abc.ABC):
    """One world: what a worker resets with a trial's seed and steps with its actions."""

    observation_space: Any
    action_space: Any
    action_dt_s: float | None = None
    """Simulated seconds per step; None where the environment has no clock."""

    max_steps: int | None = None
    """The environment's own step limit, used where the config sets none."""

    initial_states: int | None = None
    """How many initial states there are, where trials begin in them in turn, by index, whatever the seed; trials that
    begin alike and go alike then count once. None: not known; a worker tries out whether the seed changes anything."""

    step_limit: int | None = None
    """Set by a worker before each reset: after so many steps it ends the trial as truncated. For an environment that
    must know its last step."""

    records_states: bool = False
    """Set by a worker after it has made the environment: whether where everything is in space is to be recorded at each
    step, where the environment can say it (`record.states` of the config)."""

    briefing: Mapping[str, Any] | None = None
    """What agents may know of it before their trials, where only the environment can tell, such as its robot: text,
    numbers, arrays, lists and dicts, by name. None: what the suite says (`Suite.briefing`)."""

    attended: bool = False
    """Whether a person must be there, as with a real robot: trials run one at a time, each begins when the operator has
    confirmed that everything is in its initial state, and none is tried again without asking."""

    @abc.abstractmethod
    def reset(self, seed: int, index: int) -> Any:
        """Start a trial and return its first observation."""

    @abc.abstractmethod
    def step(self, action: Any) -> Step:
        """One step with an action of the action space."""

    skips_observations: bool = False
    """Whether `step_unseen` saves work."""

    def step_unseen(self, action: Any) -> Step:
        """A step after which nobody looks: as `step`, but the observation may be left out (None). A worker steps so
        within a chunk of actions, during warm-up, and at the step limit, unless observations are recorded. What
        follows is the same as after `step`."""
        return self.step(action)

    def constants(self) -> Mapping[str, Any]:
        """What is recorded once per trial, asked after its reset: arrays, numbers or text by name, such as the
        reference that a metric compares with. `case` names what the trial is about; reports group by it."""
        return {}

    def success_known(self) -> bool:
        """Whether anything says what success is, asked when a trial has ended. False: `Step.success` meant nothing in
        this trial."""
        return True

    def dummy_action(self) -> Any:
        """What is done during warm-up steps: zeros, or the nearest valid action."""
        return neutral_action(self.action_space)

    def render(self) -> np.ndarray:
        """The current frame, uint8 (height, width, 3)."""
        raise NotImplementedError(f"{type(self).__name__} does not render")

    def close(self) -> None:  # noqa: B027 - optional to override
        """Let go of the simulator."""


class SheetEnv(Env):
    """A world that writes what a step gave to one row of numbers. Where its policy lives in the worker, many worlds are
    looked at together."""

    sheet: Sheet
    """The same for all worlds of a task."""

    @abc.abstractmethod
    def write(self, action: Any, row: np.ndarray) -> None:
        """One step, written to a row of zeros."""

    def step(self, action: Any) -> Step:
        rows = self.sheet.rows(1)
        self.write(action, rows[0])
        reward, terminated, truncated, success = rows[0, :HEAD].tolist()
        signals = {name: cells.column(rows)[0] for name, cells in self.sheet.signals.items()}
        ends = flag("terminated", terminated), flag("truncated", truncated)
        return Step(self.observed(rows), reward, *ends, flag("success", success), signals)

    def observed(self, rows: np.ndarray) -> Any:
        """The observation in the first row."""
        found: dict[Any, Any] = {}
        whole = self.sheet.observation.get(())
        if whole is not None:
            return whole.column(rows)[0]
        for (*groups, name), cells in self.sheet.observation.items():
            into = found
            for group in groups:
                into = into.setdefault(group, {})
            into[name] = cells.column(rows)[0]
        return found


class BatchEnv(abc.ABC):
    """N worlds that step in one call, each with its own trial, seed and length."""

    observation_space: Any
    """Of a single world."""
    action_space: Any
    """Of a single world."""
    action_dt_s: float | None = None
    max_steps: int | None = None
    num_worlds: int
    briefing: Mapping[str, Any] | None = None
    """As in Env."""
    records_states: bool = False
    """As in Env."""
    partial_reset: bool = True
    """False: worlds can only be reset all at once; trials then run in waves."""

    @abc.abstractmethod
    def reset(self, worlds: Sequence[int], seeds: Sequence[int], indices: Sequence[int]) -> list[Any]:
        """Start trials in these worlds; one observation for each, in this order. With `partial_reset` False
        the other worlds may be reset too."""

    @abc.abstractmethod
    def step(self, actions: Mapping[int, Any]) -> dict[int, Step]:
        """Step the worlds that have an action; the others may do anything. One Step for each key of
        `actions`."""

    def constants(self, world: int) -> Mapping[str, Any]:
        """As in Env, of the trial that runs in one world."""
        return {}

    def success_known(self, world: int) -> bool:
        """As in Env, of the trial that ran in one world."""
        return True

    def dummy_action(self) -> Any:
        """As in Env."""
        return neutral_action(self.action_space)

    def render(self, world: int) -> np.ndarray:
        """The current frame of one world, uint8 (height, width, 3)."""
        raise NotImplementedError(f"{type(self).__name__} does not render")

    def close(self) -> None:  # noqa: B027 - optional to override
        """As in Env."""


class ColumnEnv(BatchEnv):
    """A batch environment that speaks in columns: with many worlds, to take them apart costs as much as to simulate
    them. Observations are one array, or a dict of arrays."""

    @abc.abstractmethod
    def step_columns(self, worlds: np.ndarray | None, actions: np.ndarray) -> Columns:
        """Step these worlds (in ascending order; None: all) with one row of `actions` for each. The arrays that are
        returned stay as they are in later steps."""

    def step(self, actions: Mapping[int, Any]) -> dict[int, Step]:
        order = sorted(actions)
        given = np.array([actions[world] for world in order])
        columns = self.step_columns(None if len(order) == self.num_worlds else np.array(order, np.int64), given)
        observation, *flags, signals = columns
        observations = split_rows(observation) if isinstance(observation, dict) else list(observation)
        every_signal = split_rows(signals) if signals else [NO_SIGNALS] * len(order)
        lists = (array.tolist() for array in flags)
        return dict(zip(order, map(Step, observations, *lists, every_signal)))


class DeviceEnv(ColumnEnv):
    """Worlds on a device whose arrays stay there, of any library that speaks DLPack. All `num_worlds` worlds step in
    one call; each begins, ends and begins anew by itself. Where the policy is on the same device nothing is copied to
    the host but what is recorded, in blocks; anywhere else the environment is used as the `ColumnEnv` that it is.

    A world without a trial is stepped, too, with any action. It may do anything, and must not disturb the others. What
    begins in a world, and how it goes on, follows from its seed, its index and its actions alone."""

    device: str
    """Where its arrays are, and where it wants actions, as torch says it: `cpu`, `cuda:0`."""

    exact: bool = False
    """Whether a trial's record is the same to the byte on every such device, with the same number of worlds, whatever
    its neighbours do and whichever world it has."""

    @abc.abstractmethod
    def begin_device(self, worlds: np.ndarray, seeds: Sequence[int], indices: Sequence[int]) -> Any:
        """Start trials in these worlds (int64, ascending), the others stay where they are. The observation of all
        worlds: one array `(num_worlds, ...)` or a flat dict of them, on the device."""

    @abc.abstractmethod
    def step_device(self, actions: Any) -> Columns:
        """Step all worlds with one row of `actions` each, a tensor of torch on the device (on the processor of an
        interpreter without torch: an array of numpy). Columns of arrays on the device: the observation as
        `begin_device` gives it; reward float32 or float64, NaN where a world broke down; terminated, truncated and
        success bool; signals `(num_worlds, ...)`, with the same names, shapes and dtypes at every step.

        What is returned may be the same memory each time: it is read before the next call. Nothing in here waits for
        the device."""

    def reset(self, worlds: Sequence[int], seeds: Sequence[int], indices: Sequence[int]) -> list[Any]:
        rows = np.asarray(worlds, np.int64)
        order = np.argsort(rows)
        seen = self.begin_device(rows[order], [seeds[i] for i in order], [indices[i] for i in order])
        if isinstance(seen, Mapping):
            return list(split_rows({name: to_host(array)[rows] for name, array in seen.items()}))
        return list(to_host(seen)[rows])

    def step_columns(self, worlds: np.ndarray | None, actions: np.ndarray) -> Columns:
        rows = slice(None) if worlds is None else worlds
        given = np.array(actions, self.action_space.dtype)
        if worlds is not None:
            dummy = np.asarray(self.dummy_action(), given.dtype)
            given = np.tile(dummy, (self.num_worlds, *[1] * dummy.ndim))
            given[worlds] = actions
        columns = self.step_device(placed(given, self.device))

        def kept(array: Any) -> np.ndarray:
            return np.array(to_host(array)[rows])

        seen, signals = columns.observation, {name: kept(array) for name, array in columns.signals.items()}
        return Columns(
            {name: kept(array) for name, array in seen.items()} if isinstance(seen, Mapping) else kept(seen),
            kept(columns.reward),
            kept(columns.terminated),
            kept(columns.truncated),
            kept(columns.success),
            signals,
        )


def split_rows(arrays: Mapping[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """One mapping of row views for each row."""
    names = tuple(arrays)
    return [dict(zip(names, row)) for row in zip(*map(list, arrays.values()))]
