"""A control step of N worlds on several threads: MuJoCo's rollout, and right after it, while its results are still in
the processor's cache, what every step needs of them. Worlds are taken in chunks by whichever thread is free, the
caller's among them; what comes out does not depend on who took what.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from proctor.suites.tracking.bodies import Bodies, BodyTree

if TYPE_CHECKING:
    import mujoco
    from mujoco.rollout import Rollout

LEAST_CHUNK = 4
"""Worlds. Chunks get smaller towards the end, so that the threads end together."""


class Moved(NamedTuple):
    """k worlds a control step later: `states` (k, 1 + nq + nv) with time 0, their `bodies`, and where the simulation
    broke down, `broken` (k,) bool: such a world is where it was before. `looks`: what `look` has written, (k, ...)."""

    states: np.ndarray
    bodies: Bodies
    broken: np.ndarray
    looks: np.ndarray | None


class Look(NamedTuple):
    """Something that is to be computed of the bodies of each world, as an array of this width, float32."""

    width: int
    write: Callable[[Bodies, np.ndarray], None]


class _Step(NamedTuple):
    models: Sequence[mujoco.MjModel]
    before: np.ndarray
    controls: np.ndarray
    moved: Moved
    chunks: deque[slice]


class Physics:
    """Steps states of worlds that share the sizes of `model`; `substeps` physics steps make a control step."""

    def __init__(self, model: mujoco.MjModel, tree: BodyTree, substeps: int, threads: int):
        import mujoco
        from mujoco import rollout

        from proctor.suites.tracking import kernels

        self._tree, self._substeps, self._settle = tree, substeps, kernels.settle
        self._least_s = (substeps - 0.5) * model.opt.timestep
        self._idle = deque((rollout.Rollout(nthread=0), mujoco.MjData(model)) for _ in range(threads))
        self._threads, self._n_sensed = threads, model.nsensordata
        self.look: Look | None = None
        self._helpers = ThreadPoolExecutor(threads - 1, "proctor-physics") if threads > 1 else None

    def step(self, models: Sequence[mujoco.MjModel], before: np.ndarray, targets: np.ndarray) -> Moved:
        """From `before` (k, 1 + nq + nv), which is not changed, with joint targets (k, J); each world has its model."""
        k = len(before)
        controls = np.repeat(targets[:, None], self._substeps, axis=1)
        looks = None if self.look is None else np.empty((k, self.look.width), np.float32)
        moved = Moved(np.empty(before.shape), self._tree.empty(k), np.empty(k, bool), looks)
        step = _Step(models, before, controls, moved, _chunks(k, self._threads))
        helpers = min(self._threads, len(step.chunks)) - 1
        at_work = [] if self._helpers is None else [self._helpers.submit(self._take, step) for _ in range(helpers)]
        self._take(step)
        for one in at_work:
            one.result()
        return moved

    def _take(self, step: _Step) -> None:
        """Chunks, until none is left."""
        own = self._idle.popleft()
        try:
            while True:
                try:
                    rows = step.chunks.popleft()
                except IndexError:
                    return
                self._chunk(step, rows, *own)
        finally:
            self._idle.append(own)

    def _chunk(self, step: _Step, rows: slice, rollout: Rollout, data: mujoco.MjData) -> None:
        models, before, controls, moved, _ = step
        states = before[rows]
        k = len(states)
        out = np.empty((k, self._substeps, states.shape[1]))
        rollout.rollout(
            models[rows], [data], states, controls[rows], nstep=self._substeps, state=out,
            sensordata=np.empty((k, self._substeps, self._n_sensed)), skip_checks=True,
        )  # fmt: skip
        self._settle(out, states, self._least_s, (moved.states[rows], moved.broken[rows]))
        bodies = moved.bodies.rows(rows)
        self._tree.place(moved.states[rows], bodies)
        if self.look is not None and moved.looks is not None:
            self.look.write(bodies, moved.looks[rows])

    def close(self) -> None:
        """Let go of the threads; safe to call twice."""
        if self._helpers is not None:
            self._helpers.shutdown()
        self._idle.clear()


def _chunks(k: int, threads: int) -> deque[slice]:
    """Of k worlds, each a share of what is left; one for a single thread."""
    found: deque[slice] = deque()
    at = 0
    while at < k:
        size = k if threads == 1 else max(LEAST_CHUNK, (k - at) // (2 * threads))
        found.append(slice(at, min(at + size, k)))
        at += size
    return found
