"""From a reward to a latent: sample states of a replay buffer, and weigh what the model makes of them.

    z = project_z(sum_i w_i r_i B(s'_i))

over samples i, where r_i is the task's reward in the state s'_i that a step led to. `reward` has w_i = 1; `reward_wr`
has w = softmax(10 r). Weights are normalised to sum 1 first, so the scale of a reward does not matter to `reward`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from proctor.errors import InputError
from proctor.policies.arrays import beside, is_tensor, no_gradients, to_host
from proctor.policies.tree import tree_map
from proctor.training.driving import Putter

Method = Literal["reward", "reward_wr"]

ROWS_AT_ONCE = 8192
"""States per call of the model."""

SHARPNESS = 10.0
"""Of the softmax of `reward_wr`."""


@runtime_checkable
class Sampled(Protocol):
    """A replay buffer. `sample(n)` gives n transitions as nested mappings of arrays or tensors (n, ...):

    - `action` (n, J): what was done;
    - `next.observation`: what was seen then, as the model's `backward_map` takes it;
    - `next.qpos` (n, 7 + J) and `next.qvel` (n, 6 + J): the state that this observation shows, quaternions wxyz. They
      may be entries of `next.observation` instead.
    """

    def sample(self, n: int, /) -> Mapping[str, Any]: ...


@dataclass(frozen=True, eq=False)
class Samples:
    """n transitions: what a reward reads, on the host, and the observation as it was stored."""

    qpos: np.ndarray
    qvel: np.ndarray
    action: np.ndarray
    observation: Any

    def __len__(self) -> int:
        return len(self.qpos)


def draw_samples(replay_buffer: Any, n: int, rng: np.random.Generator) -> Samples:
    """n transitions of a buffer: of `replay_buffer["train"]` where there is such, else of itself. A mapping of arrays
    is sampled with `rng`, without replacement (all of it where it has no more than n rows); anything else is asked
    for `sample(n)`."""
    buffer = replay_buffer
    if isinstance(buffer, Mapping) and "train" in buffer:
        buffer = buffer["train"]
    if isinstance(buffer, Mapping):
        return _read(_some_rows(buffer, n, rng))
    if isinstance(buffer, Sampled):
        return _read(buffer.sample(n))
    raise InputError(
        f"replay_buffer is a {type(buffer).__name__}; expected an object with sample(n), a mapping of arrays, or a "
        'mapping that has one of them as "train"'
    )


def _some_rows(arrays: Mapping[str, Any], n: int, rng: np.random.Generator) -> Any:
    size = len(_entry(arrays, "action"))
    if size == 0:
        raise InputError("the replay buffer is empty; evaluate after the first steps of training")
    rows = np.sort(rng.choice(size, min(n, size), replace=False))
    return tree_map(lambda values: values[beside(values, rows)], dict(arrays))


def _read(batch: Mapping[str, Any]) -> Samples:
    following = _entry(batch, "next")
    observation = _entry(following, "observation", "next.")
    places = [following, observation] if isinstance(observation, Mapping) else [following]
    state: dict[str, np.ndarray] = {}
    for name in ("qpos", "qvel"):
        place = next((p for p in places if name in p), None)
        if place is None:
            raise InputError(
                f"the replay buffer has no next.{name} (found next: {', '.join(map(str, following))}); a reward is a "
                "function of the state that next.observation shows: store its qpos and qvel there"
            )
        state[name] = to_host(place[name]).astype(np.float64)
    action = to_host(_entry(batch, "action")).astype(np.float64)
    lengths = {len(state["qpos"]), len(state["qvel"]), len(action), *_lengths(observation)}
    if len(lengths) > 1 or lengths == {0}:
        raise InputError(f"the replay buffer gave entries of {sorted(lengths)} rows; expected equally many, at least 1")
    return Samples(state["qpos"], state["qvel"], action, observation)


def _lengths(observation: Any) -> set[int]:
    leaves = observation.values() if isinstance(observation, Mapping) else [observation]
    return {len(leaf) for leaf in leaves}


def _entry(batch: Mapping[str, Any], name: str, where: str = "") -> Any:
    if name not in batch:
        found = ", ".join(map(str, batch)) or "nothing"
        raise InputError(
            f"the replay buffer has no {where}{name} (found {found}); expected action, next.observation, next.qpos and "
            "next.qvel"
        )
    return batch[name]


def sample_weights(rewards: np.ndarray, method: Method) -> np.ndarray:
    """w_i r_i of rewards (..., n) in [0, 1], normalised to sum 1 along the last axis. Where no sample earns anything
    there is nothing to infer from: NaN."""
    weights = np.exp(SHARPNESS * (rewards - rewards.max(axis=-1, keepdims=True))) if method == "reward_wr" else 1.0
    weighed = weights * rewards
    total = weighed.sum(axis=-1, keepdims=True)
    return np.divide(weighed, total, out=np.full_like(weighed, np.nan), where=total > 0)


def infer_latents(model: Any, observation: Any, weights: np.ndarray) -> Any:
    """One latent for each row of `weights` (tasks, n), of the observations (n, ...): (tasks, d), on the model's device
    where it is a torch module. The model sees each state once, however many tasks there are."""
    put, total = Putter(model), None
    with no_gradients():
        for start in range(0, weights.shape[1], ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            z = model.backward_map(put(tree_map(lambda values, rows=rows: values[rows], observation)))
            part = weights[:, rows]
            if len(z.shape) != 2 or z.shape[0] != part.shape[1]:
                raise InputError(
                    f"backward_map gave {tuple(z.shape)} for {part.shape[1]} states; expected ({part.shape[1]}, d)"
                )
            summed = _of_kind(z, part) @ z
            total = summed if total is None else total + summed
        latents = model.project_z(total)
    if not np.isfinite(to_host(latents)).all():
        raise InputError("the inferred z is not finite; look for NaN in the checkpoint and in the replay buffer")
    return latents


def _of_kind(like: Any, values: np.ndarray) -> Any:
    """`values` as `like` is: kind, place and dtype."""
    return beside(like, values).to(like.dtype) if is_tensor(like) else values.astype(like.dtype)
