"""Evaluating never changes training.

`undisturbed` keeps what an evaluation could touch and gives it back, whatever happens in between: the mode of every
module of a model, the states of the global random generators (python, numpy, torch on the CPU and on every CUDA device
in use), the number of numeric threads, which is a run's within, and whatever says how to keep itself (`Keepable`: a
motion library, a lent environment).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol, runtime_checkable

from proctor.generators import kept_generators
from proctor.policies.arrays import is_module
from proctor.threads import pinned


@runtime_checkable
class Keepable(Protocol):
    """Something whose state can be taken and given back."""

    def state(self) -> Any: ...

    def restore(self, state: Any) -> None: ...


@contextmanager
def undisturbed(*keepables: Keepable, model: Any = None) -> Iterator[None]:
    """Everything as it was when the block ends, also by an exception. A torch model is in evaluation mode within the
    block. If giving back one thing fails, the others are still given back, and the failure is raised."""
    with pinned(), kept_generators(), ExitStack() as stack:
        for keepable in keepables:
            stack.callback(keepable.restore, keepable.state())
        _keep_mode(stack, model)
        yield


def _keep_mode(stack: ExitStack, model: Any) -> None:
    """Module by module, since a part of a model in training may be frozen in evaluation mode."""
    if not is_module(model):
        return
    modes = [(module, module.training) for module in model.modules()]

    def give_back() -> None:
        for module, training in modes:
            module.training = training

    stack.callback(give_back)
    model.eval()
