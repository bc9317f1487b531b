"""The expert buffer of BFM-Zero (`TrajectoryDictBuffer`, which its training loop keeps as `expert_slicer`), as what a
Curriculum gives priorities to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from proctor.errors import InputError, optional


@runtime_checkable
class ExpertBuffer(Protocol):
    """What is used of a `TrajectoryDictBuffer`."""

    motion_ids: Any
    priorities: Any
    device: Any

    def update_priorities(self, priorities: Any, idxs: Any) -> Any: ...


class HumanoidVerseBuffer:
    """An expert buffer with names, and with priorities as tensors on its own device.

    `names` are those that `load_expert_trajectories_from_motion_lib` hangs on the buffer as `file_names`; a buffer
    without them is given them, one per trajectory, or the names of the library's motions, which its `motion_ids`
    number (`library_names`)."""

    def __init__(self, buffer: ExpertBuffer, names: Sequence[str] = (), *, library_names: Sequence[str] = ()):
        self.buffer = buffer
        ids = [int(motion) for motion in buffer.motion_ids]
        found = list(names) or list(vars(buffer).get("file_names", ()))
        if not found and library_names:
            if ids and max(ids) >= len(library_names):
                raise InputError(
                    f"the expert buffer has motion {max(ids)}, but the library {len(library_names)} motions; give both "
                    "the same motions"
                )
            found = [library_names[motion] for motion in ids]
        self.names: Sequence[str] = tuple(str(name) for name in found)
        if len(self.names) != len(ids):
            raise InputError(
                f"the expert buffer has {len(ids)} trajectories and {len(self.names)} names; give one for each: "
                "HumanoidVerseBuffer(buffer, names=[...])"
            )

    def update_priorities(self, priorities: np.ndarray, idxs: np.ndarray, /) -> None:
        """Trajectories are sampled in proportion to these from now on."""
        torch = optional("torch", "an expert buffer", "torch")
        device = self.buffer.device
        self.buffer.update_priorities(
            torch.as_tensor(np.asarray(priorities), dtype=torch.float32, device=device),
            torch.as_tensor(np.asarray(idxs), dtype=torch.long, device=device),
        )

    def state(self) -> Any:
        """The priorities as they are, to be given back where something else refuses."""
        return self.buffer.priorities.clone()

    def restore(self, state: Any) -> None:
        self.buffer.priorities = state
