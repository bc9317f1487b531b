"""The motion library of a HumanoidVerse environment: all its motions for as long as they are needed, then exactly what
it held before.

With fewer worlds than motions, training holds a random part of the motions and numbers them by their place in that
part. Whatever asks for a motion by its number in the whole library must have the whole loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from proctor.errors import optional


def holds_all(library: Any) -> bool:
    """Whether motion i of the library is what it gives for the number i."""
    ids = library._curr_motion_ids
    return ids is not None and ids.tolist() == list(range(int(library._num_unique_motions)))


@contextmanager
def all_motions(library: Any) -> Iterator[None]:
    """Every motion is loaded within. Afterwards the library is as before, also after an exception: loading makes new
    tensors, so what it held (ids, names, lengths, probabilities, frames, whether all are loaded) is put back as it
    was. So is the number of torch's threads, which loading sets to 1."""
    if holds_all(library):
        yield
        return
    torch = optional("torch", "a HumanoidVerse environment", "torch")
    kept, threads = dict(vars(library)), torch.get_num_threads()
    try:
        library.load_motions(random_sample=False, num_motions_to_load=library._num_unique_motions, start_idx=0)
        library.all_motions_loaded = True
        yield
    finally:
        vars(library).clear()
        vars(library).update(kept)
        torch.set_num_threads(threads)
