"""The code that the user trusts, by hash.

Running a config oneself is to trust the code that it names; reading a run folder, which may be someone else's, is not.
What was trusted is kept in the user's state folder, `$XDG_STATE_HOME/proctor/trusted` (`~/.local/state/...` without
that variable): one small file for each hash of a file's content and the name that is used of it. Where that folder
cannot be read, nothing is trusted; where it cannot be written, nothing is remembered, and a warning says so.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from proctor.config.code import Code
from proctor.errors import InputError

log = logging.getLogger("proctor")


def folder() -> Path:
    """Where trust is kept. A relative `XDG_STATE_HOME` is no place, as its specification says."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (state if state.is_absolute() else Path(os.path.expanduser("~/.local/state"))) / "proctor" / "trusted"


def remember(codes: Iterable[Code]) -> None:
    """From now on this code is trusted on this machine, wherever it lies."""
    for code in codes:
        path = folder() / _key(code)
        try:
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                path.write_text(f"{code.sha256} {code.target!a}\n")
        except OSError as error:
            log.warning("that %s is trusted cannot be remembered: %s; --trust says it again", code.target, error)


def untrusted(codes: Iterable[Code]) -> list[Code]:
    """Of this code, what was never trusted."""
    return [code for code in codes if not os.path.isfile(folder() / _key(code))]


def require(codes: Sequence[Code], run: Path, *, trust: bool, instead: str = "") -> None:
    """Raise InputError where code that a run folder names is not trusted. With `trust` it is, and that is remembered.
    `instead`: another way out than trusting it."""
    unknown = untrusted(codes)
    if trust:
        remember(unknown)
    elif unknown:
        listed = "\n  ".join(f"{code.where}: {code.target} (sha256 {code.sha256})" for code in unknown)
        raise InputError(
            f"{run} names code that would run on this machine with your rights. You have neither run nor trusted it "
            f"before, or it was changed since:\n  {listed}\nRead it, then say --trust{instead}"
        )


def _key(code: Code) -> str:
    return hashlib.sha256(f"{code.sha256} {code.attribute}".encode(errors="surrogatepass")).hexdigest()
