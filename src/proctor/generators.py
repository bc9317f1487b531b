"""The global random generators of python, numpy and torch, which nothing of Proctor draws from: other people's code
may. Torch is looked for, never imported; a CUDA device that is not in use yet is not touched."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np


@contextmanager
def kept_generators() -> Iterator[None]:
    """The global generators are as they were when the block ends, also by an exception."""
    with ExitStack() as stack:
        stack.callback(random.setstate, random.getstate())
        stack.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002 - kept for those who use it
        torch: Any = sys.modules.get("torch")
        if torch is not None:
            stack.callback(torch.set_rng_state, torch.get_rng_state())
            if torch.cuda.is_available() and torch.cuda.is_initialized():
                stack.callback(torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all())
        yield


def seed_generators(seed: int) -> None:
    """Have the global generators start from `seed`."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - for those who use it
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(seed)
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(seed)
