"""LeRobot's policies as rows of trials.

`select_action` of LeRobot's keeps queues in the policy: the last `n_obs_steps` observations, and what is left of the
last chunk of actions, of which `n_action_steps` are run. Here they belong to the trials. Three ways, all equal to that
loop:

- `Chunked`, where one observation is looked at: a chunk is answered as a whole, and nothing is remembered.
- `Remembering`, where several are: it is asked at every step, as LeRobot is, to see every observation, and computes
  when a trial's queue is empty.
- `Ensembled`, ACT's average of all chunks that speak of a step: it computes at every step.

Observations go through LeRobot's own names and preprocessor, actions through its postprocessor. Noise comes from the
trials' generators.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from proctor.policies.protocol import Actions, Batch, Policy, SpaceInfo, State
from proctor_host.errors import InputError
from proctor_host.spaces import Dict, described
from proctor_host.trials import Trial

WHOLE = "observation"
"""The name of an observation that has no entries."""
NOISY = ("diffusion", "smolvla", "pi0", "pi05")
"""Types that start from noise."""
_LARGEST_SEED = 1 << 63


class Model:
    """A policy of LeRobot's with its processors. `words`: what each task is told. `inputs`: input of the policy ->
    entry of the observation; None: as LeRobot's own evaluation has it."""

    def __init__(
        self, policy: Any, processors: tuple[Any, Any], words: Mapping[str, str | None], inputs: dict[str, str] | None
    ):
        self.policy, self.config, self.kind = policy, policy.config, policy.config.type
        self._before, self._after = processors
        self._words, self._inputs = words, inputs

    def check(self, spaces: SpaceInfo) -> None:
        """Raise InputError where a task does not give what the policy wants, in name or shape."""
        for task, space in spaces.observation.items():
            given = self._named(_zeros(described(space), 1))
            for name, feature in self.config.input_features.items():
                found = None if name not in given else tuple(given[name].shape[1:])
                if found != tuple(feature.shape):
                    had = ", ".join(f"{key} {tuple(value.shape[1:])}" for key, value in given.items()) or "nothing"
                    raise InputError(
                        f'the policy wants {name} of shape {tuple(feature.shape)}; the observation of task "{task}" '
                        f"gives {had}; say which entry it is with options: {{inputs: {{{name}: ENTRY}}}}"
                    )

    def seen(self, observation: Any, trials: Sequence[Trial]) -> dict[str, Any]:
        """Observations `(rows, ...)` as the policy takes them."""
        named: dict[str, Any] = self._named(observation)
        named["task"] = [self._words.get(trial.task) or "" for trial in trials]
        return self._before(named)

    def _named(self, observation: Any) -> dict[str, Any]:
        import torch
        from lerobot.envs.utils import preprocess_observation  # pyright: ignore[reportMissingImports]

        if self._inputs is None:
            return preprocess_observation(observation if isinstance(observation, dict) else {"agent_pos": observation})
        named: dict[str, Any] = {}
        for name, entry in self._inputs.items():
            value = entry_of(observation, entry)
            if value.dtype == np.uint8 and value.ndim == 4:
                named[name] = preprocess_observation({"pixels": value})["observation.image"]
            else:
                named[name] = torch.from_numpy(value).float()
        return named

    def chunk(self, frames: Sequence[dict[str, Any]], batch: Batch, rows: np.ndarray) -> np.ndarray:
        """The actions that `n_action_steps` steps run, `(rows, n_action_steps, action)`, after these observations,
        oldest first. Generators of `rows` are drawn from; what the others get is nobody's."""
        import torch

        with torch.inference_mode():
            self.policy.reset()
            seen = [self._stacked(frame) for frame in frames]
            if self.kind == "diffusion":
                from lerobot.policies.utils import populate_queues  # pyright: ignore[reportMissingImports]

                for frame in seen:
                    self.policy._queues = populate_queues(self.policy._queues, frame)
            noise = self._noise(batch, rows)
            with self._generators(batch, rows):
                actions = self.policy.predict_action_chunk(seen[-1], **noise)
            return self._out(actions[:, : self.config.n_action_steps])

    def ensemble(self, frame: dict[str, Any], state: Mapping[str, np.ndarray]) -> tuple[np.ndarray, dict[str, Any]]:
        """One action a row, and the next state: what ACT's ensemble of each row has, the rows one by one, since they
        are of different age."""
        import torch

        with torch.inference_mode():
            chunks = self.policy.predict_action_chunk(frame)
            ensembler, chosen, left, counts = self.policy.temporal_ensembler, [], [], []
            for row in range(len(chunks)):
                ensembler.reset()
                if state["started"][row]:
                    ensembler.ensembled_actions = torch.from_numpy(state["actions"][row : row + 1]).to(chunks.device)
                    ensembler.ensembled_actions_count = torch.from_numpy(state["counts"][row]).to(chunks.device)
                chosen.append(ensembler.update(chunks[row : row + 1]))
                left.append(ensembler.ensembled_actions.cpu().numpy()[0])
                counts.append(ensembler.ensembled_actions_count.cpu().numpy())
            actions = self._out(torch.cat(chosen)[:, None])[:, 0]
        started = np.ones(len(chunks), bool)
        return actions, {"started": started, "actions": np.stack(left), "counts": np.stack(counts)}

    def _stacked(self, frame: dict[str, Any]) -> dict[str, Any]:
        """As `select_action` gives it on: without an action, and for Diffusion, whose queues hold them, with all images
        in one entry."""
        import torch

        frame = {key: value for key, value in frame.items() if key != "action"}
        if self.kind != "diffusion" or not self.config.image_features:
            return frame
        return {**frame, "observation.images": torch.stack([frame[key] for key in self.config.image_features], dim=-4)}

    def _out(self, actions: Any) -> np.ndarray:
        """Postprocessed step by step, as LeRobot does it."""
        steps = [self._after(actions[:, step]) for step in range(actions.shape[1])]
        return np.stack([step.to("cpu").float().numpy() for step in steps], axis=1)

    # Noise ------------------------------------------------------------------------------------------------------------

    @property
    def noise_shape(self) -> tuple[int, int] | None:
        """Of the noise that one row starts from; None where a policy takes none."""
        config = self.config
        if self.kind not in NOISY:
            return None
        if self.kind == "diffusion":
            return config.horizon, config.action_feature.shape[0]
        return config.chunk_size, config.max_action_dim

    def _noise(self, batch: Batch, rows: np.ndarray) -> dict[str, Any]:
        import torch

        shape = self.noise_shape
        if shape is None:
            return {}
        drawn = np.zeros((len(batch), *shape), np.float32)
        for row in rows.tolist():
            drawn[row] = batch.rngs[row].standard_normal(shape, dtype=np.float32)
        return {"noise": torch.from_numpy(drawn).to(self.config.device)}

    @contextmanager
    def _generators(self, batch: Batch, rows: np.ndarray) -> Iterator[None]:
        """Within, what Diffusion's scheduler draws on the way is each row's own, from a generator that the trial's
        seeds."""
        import torch

        if self.kind != "diffusion":
            yield
            return
        seeds = np.zeros(len(batch), np.int64)
        for row in rows.tolist():
            seeds[row] = batch.rngs[row].integers(_LARGEST_SEED)
        own = [torch.Generator().manual_seed(int(seed)) for seed in seeds]
        model = self.policy.diffusion
        model.conditional_sample = partial(type(model).conditional_sample, model, generator=own)
        try:
            yield
        finally:
            del model.conditional_sample


class Chunked(Policy):
    """Looks at one observation, and answers a chunk."""

    def __init__(self, model: Model):
        self.model = model

    def act(self, batch: Batch) -> np.ndarray:
        frame = self.model.seen(batch.observation, batch.trials)
        return self.model.chunk([frame], batch, np.arange(len(batch)))


class Remembering(Policy):
    """Looks at several observations. State: these, `left` (how many actions of the queue are left), and the queue."""

    def __init__(self, model: Model, spaces: SpaceInfo):
        self.model, config = model, model.config
        self._steps, self._actions = config.n_obs_steps, config.n_action_steps
        self._width = config.action_feature.shape[0]
        self._blank = {task: _zeros(described(space), self._steps) for task, space in spaces.observation.items()}

    def reset(self, trials: Sequence[Trial]) -> State:
        n = len(trials)
        return {
            "seen": _stack([self._blank[trial.task] for trial in trials]),
            "started": np.zeros(n, bool),
            "left": np.zeros(n, np.int64),
            "queue": np.zeros((n, self._actions, self._width), np.float32),
        }

    def act(self, batch: Batch) -> Actions:
        state, n = batch.state, len(batch)
        started = state["started"]
        seen = _map(partial(_push, started), state["seen"], batch.observation)
        left, queue = state["left"].copy(), state["queue"].copy()
        empty = np.flatnonzero(left == 0)
        if len(empty):
            frames = [_map(lambda leaf, i=i: np.ascontiguousarray(leaf[:, i]), seen) for i in range(self._steps)]
            chunk = self.model.chunk([self.model.seen(one, batch.trials) for one in frames], batch, empty)
            queue[empty], left[empty] = chunk[empty], self._actions
        actions = queue[np.arange(n), self._actions - left]
        return Actions(actions, {"seen": seen, "started": np.ones(n, bool), "left": left - 1, "queue": queue})


class Ensembled(Policy):
    """ACT with temporal ensembling."""

    def __init__(self, model: Model):
        self.model = model

    def reset(self, trials: Sequence[Trial]) -> State:
        n, config = len(trials), self.model.config
        rest = config.chunk_size - 1
        return {
            "started": np.zeros(n, bool),
            "actions": np.zeros((n, rest, config.action_feature.shape[0]), np.float32),
            "counts": np.zeros((n, rest, 1), np.int64),
        }

    def act(self, batch: Batch) -> Actions:
        return Actions(*self.model.ensemble(self.model.seen(batch.observation, batch.trials), batch.state))


def entry_of(observation: Any, name: str) -> np.ndarray:
    """An entry of an observation by its dotted name. Raises InputError where there is none."""
    found = observation
    for part in () if name == WHOLE else name.split("."):
        if not isinstance(found, dict) or part not in found:
            known = ", ".join(found) if isinstance(found, dict) else "no entries"
            raise InputError(f'options.inputs: the observation has no entry "{name}" (it has {known})')
        found = found[part]
    return np.asarray(found)


def _push(started: np.ndarray, frames: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Frames `(rows, steps, ...)` with a new one at the end; before the first one there is the first."""
    moved = np.concatenate([frames[:, 1:], new[:, None]], axis=1)
    moved[~started] = new[~started, None]
    return moved


def _map(function: Any, tree: Any, *others: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _map(function, value, *(other[key] for other in others)) for key, value in tree.items()}
    return function(tree, *others)


def _stack(trees: Sequence[Any]) -> Any:
    return _map(lambda *leaves: np.stack(leaves), trees[0], *trees[1:])


def _zeros(space: Any, count: int) -> Any:
    if isinstance(space, Dict):
        return {key: _zeros(inner, count) for key, inner in space.spaces.items()}
    return np.zeros((count, *space.shape), space.dtype)
