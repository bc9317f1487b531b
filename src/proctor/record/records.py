"""Whether the recorded arrays of a run are still what was written: the ledger has the size and CRC-32 of each file.

Sizes are looked up without reading a file, a million in some seconds; a file that was replaced by another one of its
size is found by reading it.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from proctor.record.batch import KEY
from proctor.record.ledger import Ledger
from proctor_host.trials import Trial

NAMED = 5
"""How many trials a sentence names before it counts the rest."""
_PLACE = re.compile(r"trials/[^/\0]+\.npz")
_READ_AT_ONCE = 1 << 20


class Found:
    """Trials of which something is wrong: how many, and the first few with what it is."""

    def __init__(self, trials: Iterable[tuple[Trial, str]]):
        self.n, self.first = 0, list[tuple[Trial, str]]()
        for trial in trials:
            self.n += 1
            if self.n <= NAMED:
                self.first.append(trial)

    def __str__(self) -> str:
        more = [f"and {self.n - NAMED:,} more"] if self.n > NAMED else []
        return "; ".join([*(f"{trial.key} ({why})" for trial, why in self.first), *more])


def damage(folder: Path, npz: str, written: tuple[int | None, int | None]) -> str | None:
    """What is wrong with the record `npz` of a run folder, whose file is read, in some words; None: nothing is.
    `written` is the size and CRC-32 that it had, None where that is not known."""
    try:
        if not _PLACE.fullmatch(npz):
            return _by_size(npz, None, None)
        size = os.stat(path := os.path.join(folder, npz)).st_size
        if (why := _by_size(npz, size, written[0])) is None and written[1] not in (None, _crc(path)):
            why = "its bytes are not those that were written"
        return why
    except FileNotFoundError:
        return _by_size(npz, None, None)
    except OSError as error:
        return f"it cannot be read: {error.strerror}"


def damaged(folder: Path, ledger: Ledger) -> Iterator[tuple[Trial, str]]:
    """Finished trials whose records, which are all read, are missing or damaged, and what is wrong."""
    for trial, npz, size, crc in _recorded(ledger):
        if (why := damage(folder, npz, (size, crc))) is not None:
            yield trial, why


def of_wrong_size(folder: Path, ledger: Ledger) -> Iterator[tuple[Trial, str]]:
    """The same as far as it can be seen without reading a file."""
    try:
        with os.scandir(folder / "trials") as entries:
            sizes = {f"trials/{entry.name}": entry.stat().st_size for entry in entries}
    except OSError:
        sizes = {}
    for trial, npz, size, _ in _recorded(ledger):
        if (why := _by_size(npz, sizes.get(npz), size)) is not None:
            yield trial, why


def _recorded(ledger: Ledger) -> Iterator[tuple[Trial, str, int | None, int | None]]:
    names = (*KEY, "npz", "npz_size", "npz_crc")
    for batch in ledger.batches(names[len(KEY) :], metrics=()):
        for *key, npz, size, crc in zip(*(batch[name] for name in names), strict=True):
            if npz is not None:
                yield Trial(*key), npz, size, crc


def _by_size(npz: str, found: int | None, written: int | None) -> str | None:
    """What its size, None where there is no such file, says of a record."""
    if found is None:
        known = _PLACE.fullmatch(npz)
        return "it is missing" if known else f"it is said to be {npz!a}, which is no file in trials/"
    if written is None or found == written:
        return None
    return "it is empty" if not found else f"it has {found:,} bytes and was written with {written:,}"


def _crc(path: str) -> int:
    crc = 0
    with open(path, "rb") as file:
        while data := file.read(_READ_AT_ONCE):
            crc = zlib.crc32(data, crc)
    return crc
