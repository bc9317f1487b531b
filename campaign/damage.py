"""What happens to a run folder while nobody works on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from campaign.faults import Fault


def damage(folder: Path, fault: Fault) -> Path | None:
    """Do it; the file that was touched, or None where there was nothing to touch."""
    return DEEDS[fault.kind](folder, fault.choice)


def _record(folder: Path, choice: int) -> Path | None:
    records = sorted((folder / "trials").glob("*.npz"))
    return records[choice % len(records)] if records else None


def _cut(folder: Path, choice: int) -> Path | None:
    if (path := _record(folder, choice)) is not None:
        content = path.read_bytes()
        path.write_bytes(content[: choice % max(len(content), 1)])
    return path


def _empty(folder: Path, choice: int) -> Path | None:
    if (path := _record(folder, choice)) is not None:
        path.write_bytes(b"")
    return path


def _flip(folder: Path, choice: int) -> Path | None:
    if (path := _record(folder, choice)) is not None and (content := bytearray(path.read_bytes())):
        content[choice * 7919 % len(content)] ^= 1 << choice % 8
        path.write_bytes(content)
    return path


def _remove(folder: Path, choice: int) -> Path | None:
    if (path := _record(folder, choice)) is not None:
        path.unlink()
    return path


def _leftover(folder: Path, choice: int) -> Path | None:
    """What a process that died while it wrote may leave."""
    if (path := _record(folder, choice)) is None:
        return None
    path.with_name(f"{path.name}.tmp").write_bytes(b"PK\x03\x04 half a file")
    return None


def _reports(folder: Path, choice: int) -> Path | None:
    for path in [*folder.glob("report.*"), folder / "summary.csv", folder / "trials.parquet"]:
        path.unlink(missing_ok=True)
    return None


DEEDS: dict[str, Callable[[Path, int], Path | None]] = {
    "record cut short": _cut,
    "record emptied": _empty,
    "record damaged": _flip,
    "record removed": _remove,
    "leftover of a write": _leftover,
    "reports removed": _reports,
}
