"""What is done around a model: preprocessor (without one, a task's `info` is taken out), frame stack, normalisation,
entries put in order, arrays moved into the model's layout, then the model, then how its chunks are run, then action
scaling.

`Pipeline` is made from an agent's options and the tasks' spaces. `model_spaces` are the spaces as the model
sees them; `around(policy)` puts the steps around a policy. Past frames belong to a trial and so travel in its
state, beside the inner policy's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.policies.chunks import Chunks
from proctor.policies.normalize import Moments, Statistics, read_statistics
from proctor.policies.options import ActionScaleCfg, PolicyOptions
from proctor.policies.preprocess import Layout, Ordering, Preprocessor
from proctor.policies.protocol import Actions, AnyPolicy, Batch, Policy, SpaceInfo, StagedPolicy, State, by_task
from proctor.policies.tree import stack_rows, tree_map
from proctor.spaces import INFO, OBSERVATION, is_handed
from proctor_host.trials import Trial


class Pipeline:
    """The steps around one agent's model."""

    def __init__(self, options: PolicyOptions, spaces: SpaceInfo, base: Path | None):
        self.preprocess = None
        observed = spaces.observation
        hidden = not options.info and options.preprocessor is None
        self.without_info = hidden and any(is_handed(space) for space in observed.values())
        if self.without_info:
            observed = {task: s.spaces[OBSERVATION] if is_handed(s) else s for task, s in observed.items()}
        if options.preprocessor is not None:
            self.preprocess = Preprocessor(options.preprocessor, observed, base)
            observed = {task: self.preprocess.space(task) for task in observed}
        stack = FrameStack(options) if options.frame_stack > 1 else None
        self.frames = Frames(stack, observed) if stack else None
        stacked = {task: stack.space(s) for task, s in observed.items()} if stack else observed
        self.normalize: Normalize | None = None
        if options.normalize is not None:
            statistics = read_statistics(options.normalize, base)
            if statistics.moments:
                self.normalize = Normalize(statistics, stack, stacked)
                stacked = {task: self.normalize.space(s) for task, s in stacked.items()}
        self.order = None if options.observation_order is None else Ordering(options.observation_order, stacked)
        if self.order is not None:
            stacked = {task: self.order.space(task) for task in stacked}
        moves = options.image_layout != "as_is" or options.integers != "keep"
        self.layout = Layout(options) if moves else None
        if self.layout is not None:
            stacked = {task: self.layout.space(space) for task, space in stacked.items()}
        chunked = options.temporal_ensemble is not None
        chunked |= options.replan_steps is not None and not options.replans_itself
        self.chunks = Chunks(options, spaces.action) if chunked else None
        self.scale = ActionScale(options.action_scale, spaces.action) if options.action_scale else None
        self.model_spaces = SpaceInfo(dict(stacked), dict(spaces.action), spaces.briefing)

    def around(self, policy: AnyPolicy) -> AnyPolicy:
        """The policy with the steps around it; the policy itself where there are none."""
        if self.chunks is not None:
            policy = self.chunks.around(policy)
        steps = (self.preprocess, self.frames, self.normalize, self.order, self.layout, self.scale)
        if all(step is None for step in steps) and not self.without_info:
            return policy
        if isinstance(policy, StagedPolicy) and self.without_info:
            raise InputError(
                f"a task hands its info on, and {type(policy).__name__}, a policy of several stages, must take it as "
                "it is: set options.info: true"
            )
        if isinstance(policy, StagedPolicy):
            raise InputError(
                "preprocessor, frame_stack, normalize, observation_order, image_layout, integers and action_scale are "
                f"for policies of one stage; {type(policy).__name__} has stages "
                f"{', '.join(s.name for s in policy.stages)} and must do these itself"
            )
        return PipelinePolicy(policy, self)


class PipelinePolicy(Policy):
    """A policy with the steps of a pipeline around it. State: the inner policy's, or with a frame stack
    `{"frames": ..., "started": (rows,) bool}` and the inner policy's under `inner` where it has one."""

    def __init__(self, inner: Policy, pipeline: Pipeline):
        self.inner, self.pipeline = inner, pipeline
        self.placement, self.row_by_row = inner.placement, inner.row_by_row
        self.elsewhere = inner.elsewhere

    def reset(self, trials: Sequence[Trial]) -> State:
        inner = self.inner.reset(trials)
        return inner if self.pipeline.frames is None else _with_inner(self.pipeline.frames.initial(trials), inner)

    def act(self, batch: Batch) -> np.ndarray | Actions:
        pipe, observation, inner_state, own = self.pipeline, batch.observation, batch.state, None
        if pipe.without_info and isinstance(observation, dict) and set(observation) == {OBSERVATION, INFO}:
            observation = observation[OBSERVATION]
        if pipe.preprocess is not None:
            observation = pipe.preprocess(observation, batch.trials)
        if pipe.frames is not None:
            own, observation = pipe.frames.push(batch.state, observation)
            inner_state = batch.state.get("inner")
        if pipe.normalize is not None:
            observation = pipe.normalize(observation)
        if pipe.order is not None:
            observation = pipe.order(observation)
        if pipe.layout is not None:
            observation = pipe.layout(observation)
        answer = self.inner.act(replace(batch, observation=observation, state=inner_state))
        result = answer if isinstance(answer, Actions) else Actions(answer)
        actions = result.actions if pipe.scale is None else pipe.scale(result.actions, batch.trials)
        return Actions(actions, result.state if own is None else _with_inner(own, result.state))

    def close(self) -> None:
        self.inner.close()

    def abandon(self) -> None:
        self.inner.abandon()


def _with_inner(own: dict[str, Any], inner: State) -> dict[str, Any]:
    return own if inner is None else {**own, "inner": inner}


class FrameStack:
    """How k frames become one observation."""

    def __init__(self, options: PolicyOptions):
        self.count, self.axis, self.join_kind = (
            options.frame_stack,
            options.frame_stack_axis,
            options.frame_stack_join,
        )
        self.repeat = options.frame_stack_start == "repeat"

    def join(self, frames: np.ndarray) -> np.ndarray:
        """`(rows, k, *shape)`, oldest first, to the stacked observation `(rows, ...)`."""
        if self.join_kind == "stack":
            return frames if self.axis == "first" else np.moveaxis(frames, 1, -1)
        if self.axis == "first":
            return frames.reshape(len(frames), self.count * frames.shape[2], *frames.shape[3:])
        moved = np.moveaxis(frames, 1, -2)
        return moved.reshape(*moved.shape[:-2], self.count * moved.shape[-1])

    def tile(self, values: np.ndarray) -> np.ndarray:
        """An array of a single frame's shape, repeated as frames are joined."""
        return self.join(np.repeat(values[None, None], self.count, axis=1))[0]

    def space(self, space: Any) -> Any:
        """The space of stacked observations."""
        from gymnasium import spaces

        if isinstance(space, spaces.Dict):
            return spaces.Dict([(key, self.space(sub)) for key, sub in space.spaces.items()])
        if isinstance(space, spaces.Tuple):
            return spaces.Tuple([self.space(sub) for sub in space.spaces])
        if self.join_kind == "concatenate" and not space.shape:
            raise InputError(f"frame_stack cannot concatenate {space}: it has no axis; use frame_stack_join: stack")
        if isinstance(space, spaces.Box):
            low, high = self.tile(space.low), self.tile(space.high)
            return spaces.Box(low, high, dtype=space.dtype.type)
        if isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary):
            dtype: Any = space.dtype
            limits = np.iinfo(dtype)
            shape = self.tile(np.zeros(space.shape or (), dtype)).shape
            return spaces.Box(limits.min, limits.max, shape, dtype.type)
        raise InputError(f"frame_stack needs observations made of arrays; found {space}")


class Frames:
    """The past frames of trials, as state."""

    def __init__(self, stack: FrameStack, observation: dict[str, Any]):
        self.stack = stack
        self._blank = {task: _zeros(space, stack.count) for task, space in observation.items()}

    def initial(self, trials: Sequence[Trial]) -> dict[str, Any]:
        """Blank frames. The trials must share one observation layout."""
        missing = sorted({t.task for t in trials} - set(self._blank))
        if missing:
            raise InputError(f"frame_stack needs the observation space of every task; none for {', '.join(missing)}")
        return {"frames": stack_rows([self._blank[t.task] for t in trials]), "started": np.zeros(len(trials), bool)}

    def push(self, state: dict[str, Any], observation: Any) -> tuple[dict[str, Any], Any]:
        """The next state, and the stacked observation."""
        started = state["started"]

        def shift(frames: np.ndarray, new: np.ndarray) -> np.ndarray:
            moved = np.concatenate([frames[:, 1:], new[:, None]], axis=1)
            if self.stack.repeat:
                moved[~started] = new[~started, None]
            return moved

        frames = tree_map(shift, state["frames"], observation)
        return {"frames": frames, "started": np.ones_like(started)}, tree_map(self.stack.join, frames)


def _zeros(space: Any, count: int) -> Any:
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return {key: _zeros(sub, count) for key, sub in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_zeros(sub, count) for sub in space.spaces)
    return np.zeros((count, *(space.shape or ())), space.dtype)


class Normalize:
    """Normalisation of observations, whole or by entry. Statistics of a single frame serve stacked frames too."""

    def __init__(self, statistics: Statistics, stack: FrameStack | None, observation: dict[str, Any]):
        self.statistics = statistics
        self.whole = set(statistics.moments) == {""}
        for task, space in observation.items():
            self.statistics = replace(self.statistics, moments=self._fitted(task, space, stack))

    def __call__(self, observation: Any) -> Any:
        apply = self.statistics.apply
        if self.whole:
            return apply("", observation)
        return {k: apply(k, v) if k in self.statistics.moments else v for k, v in observation.items()}

    def space(self, space: Any) -> Any:
        """The space of normalised observations."""
        from gymnasium import spaces

        if self.whole:
            return self._box(space)
        changed = [(k, self._box(s) if k in self.statistics.moments else s) for k, s in space.spaces.items()]
        return spaces.Dict(changed)

    def _box(self, space: Any) -> Any:
        from gymnasium import spaces

        bound = np.inf if self.statistics.clip is None else self.statistics.clip
        return spaces.Box(-bound, bound, space.shape or (), np.float32)

    def _fitted(self, task: str, space: Any, stack: FrameStack | None) -> dict[str, Moments]:
        from gymnasium import spaces

        if self.whole == isinstance(space, spaces.Dict):
            wants = "one array" if self.whole else f"a dict with {', '.join(self.statistics.moments)}"
            raise InputError(
                f'normalize: the statistics are for {wants}, but the observation of task "{task}" is {space}'
                + ("; say which entry with normalize.key" if self.whole else "")
            )
        fitted = {}
        for key, moments in self.statistics.moments.items():
            if not self.whole and key not in space.spaces:
                known = ", ".join(space.spaces)
                raise InputError(f'normalize: task "{task}" has no observation entry "{key}" (it has {known})')
            entry = space if self.whole else space.spaces[key]
            fitted[key] = _fit(
                moments, entry.shape or (), stack, f'task "{task}"' + (f', entry "{key}"' if key else "")
            )
        return fitted


def _fit(moments: Moments, shape: tuple[int, ...], stack: FrameStack | None, where: str) -> Moments:
    if moments.mean.shape in (shape, ()):
        return moments
    if stack is not None and stack.tile(moments.mean).shape == shape:
        return Moments(stack.tile(moments.mean), stack.tile(moments.var))
    raise InputError(
        f"normalize: the statistics have shape {moments.mean.shape}, the observation of {where} has {shape}"
    )


@dataclass(frozen=True)
class _Affine:
    """`offset + scale * x`, given out in the action space's dtype."""

    scale: np.ndarray
    offset: np.ndarray
    dtype: Any

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return (self.offset + self.scale * values).astype(self.dtype)


class ActionScale:
    """Action scaling, per task where the task's bounds decide. Computed in float64, given out in the space's dtype."""

    def __init__(self, cfg: ActionScaleCfg, action: dict[str, Any]):
        self.cfg = cfg
        self._by_task = {task: self._affine(task, space) for task, space in action.items()}

    def _affine(self, task: str, space: Any) -> _Affine:
        from gymnasium import spaces

        if not isinstance(space, spaces.Box):
            raise InputError(f'action_scale needs a Box action space; task "{task}" has {space}')
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        if self.cfg.to_space:
            if not space.is_bounded():
                raise InputError(f'action_scale.to_space needs a bounded action space; task "{task}" has {space}')
            return _Affine((high - low) / 2, (high + low) / 2, space.dtype)
        try:
            scale = np.broadcast_to(np.asarray(self.cfg.scale, np.float64), space.shape)
            offset = np.broadcast_to(np.asarray(self.cfg.offset, np.float64), space.shape)
        except ValueError:
            raise InputError(
                f'action_scale: scale or offset does not fit the action shape {space.shape} of task "{task}"'
            ) from None
        return _Affine(scale, offset, space.dtype)

    def __call__(self, actions: np.ndarray, trials: Sequence[Trial]) -> np.ndarray:
        """Actions or chunks `(rows, [horizon,] *action)`, scaled row by row for the row's task."""
        values = np.asarray(actions, np.float64)
        if self.cfg.clip is not None:
            values = np.clip(values, *self.cfg.clip)
        return by_task(trials, lambda task, rows: self._by_task[task](values[rows]))
