"""Seeds, written out: a list, a range or a file becomes the list of seeds that trials have.

`seeds: [3, 14, "100..199"]`, `seeds: 100..199` (both ends belong to it), `seeds: {from: 100, to: 199}`,
`seeds: {from: 100, count: 100}`, `seeds: seeds.txt` (an integer a line, or a JSON list), `seeds: {file: seeds.txt}`.
Seeds of a run that follow one another without a gap are written as `base_seed` and `n_trials`: what means the same
looks the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from proctor.config.models import LARGEST_LISTED_SEED, LARGEST_SEED, MOST_LISTED_SEEDS, MOST_TRIALS, EvalConfig
from proctor.config.paths import Context, existing_file
from proctor.config.problems import Path, Problems, did_you_mean, shown

_RANGE = re.compile(r"(-?\d+)\s*\.\.\s*(-?\d+)")
_FORMS = "a list such as [3, 14, 15], a range such as 100..199, {from: 100, count: 20}, or a file"
_KEYS = ("from", "to", "count", "file")
_MOST_BYTES = 16 * 2**20


def resolve_seeds(data: dict[str, Any], context: Context) -> tuple[dict[str, Any], int | None]:
    """The config with the seeds of the run written out, and how many there are; None where it gives none. What is wrong
    is added to the context's problems."""
    given = data.get("seeds")
    if given is None:
        return data, None
    seeds = seeds_of(given, ("seeds",), context)
    if seeds is None:
        return {**data, "seeds": None}, None
    default = EvalConfig.model_fields["base_seed"].default
    if data.get("base_seed", default) != default:
        message = f"found {shown(data['base_seed'])} beside seeds, which say with what trials begin"
        context.problems.add(("base_seed",), message, "leave one of the two out")
    n = check_count(data.get("n_trials"), len(seeds), ("n_trials",), context.problems)
    first = seeds[0]
    if seeds[-1] <= LARGEST_SEED and list(seeds) == list(range(first, first + len(seeds))):
        return {**data, "seeds": None, "base_seed": first, "n_trials": n}, len(seeds)
    return {**data, "seeds": list(seeds), "base_seed": default, "n_trials": n}, len(seeds)


def check_count(n_trials: Any, n_seeds: int, where: Path, problems: Problems) -> Any:
    """How many trials there are: what is given, which are the first of the seeds, else one for each. More trials than
    seeds are a problem."""
    if n_trials is None:
        return n_seeds
    if isinstance(n_trials, int) and n_trials > n_seeds:
        counted = "1 seed is" if n_seeds == 1 else f"{n_seeds:,} seeds are"
        problems.add(where, f"found {n_trials:,}, but {counted} listed; list more seeds, or leave n_trials out")
        return n_seeds
    return n_trials


def seeds_of(given: Any, where: Path, context: Context) -> Sequence[int] | None:
    """The seeds that a value stands for, in its order; None, with every problem noted, where it stands for none."""
    before = len(context.problems)
    found = [*_entries(given, where, context)]
    if not found:
        if len(context.problems) == before:
            context.problems.add(where, f"found no seed; expected {_FORMS}")
        return None
    seeds = [seed for entry in found for seed in entry.seeds]
    if len(found) > 1 or not isinstance(found[0].seeds, range):
        _check_list(seeds, found, where, context.problems)
    return seeds if len(context.problems) == before else None


@dataclass(frozen=True)
class _Entry:
    """Some seeds, where they stand in the config, and what to call that place beside it."""

    seeds: Sequence[int]
    where: Path
    place: str


def _check_list(seeds: Sequence[int], found: Sequence[_Entry], where: Path, problems: Problems) -> None:
    if len(seeds) > MOST_LISTED_SEEDS:
        problems.add(where, f"found {len(seeds):,} seeds; expected at most {MOST_LISTED_SEEDS:,}, or one range")
        return
    first: dict[int, str] = {}
    for entry in found:
        for seed in entry.seeds:
            if seed in first:
                message = f"the seed {seed} is listed twice ({first[seed]} and {entry.place})"
                problems.add(entry.where, f"{message}; a trial runs once")
            first.setdefault(seed, entry.place)


def _entries(given: Any, where: Path, context: Context) -> Iterator[_Entry]:
    if isinstance(given, list):
        for i, entry in enumerate(given):
            yield from _single(entry, (*where, i), f"entry {i + 1}", context.problems)
    elif isinstance(given, dict):
        yield from _mapping(given, where, context)
    elif isinstance(given, str) and (match := _RANGE.fullmatch(given.strip())):
        yield from _range(int(match[1]), int(match[2]), where, context.problems)
    elif isinstance(given, str) and given.strip():
        yield from _file(given, where, context)
    else:
        hint = "n_trials says how many trials there are" if isinstance(given, int) else None
        context.problems.add(where, f"found {shown(given)}; expected {_FORMS}", hint)


def _single(entry: Any, where: Path, place: str, problems: Problems) -> Iterator[_Entry]:
    match = _RANGE.fullmatch(entry.strip()) if isinstance(entry, str) else None
    if match is not None:
        for found in _range(int(match[1]), int(match[2]), where, problems):
            yield _Entry(found.seeds, where, place)
    elif not isinstance(entry, int) or isinstance(entry, bool):
        problems.add(where, f"found {shown(entry)}; expected an integer or a range such as 100..199")
    elif _fits(entry, where, "", problems):
        yield _Entry((entry,), where, place)


def _fits(seed: int, where: Path, place: str, problems: Problems) -> bool:
    if 0 <= seed <= LARGEST_LISTED_SEED:
        return True
    bound = "at least 0" if seed < 0 else f"at most {LARGEST_LISTED_SEED:,}"
    problems.add(where, f"{place}found {seed}; expected {bound}")
    return False


def _range(first: int, last: int, where: Path, problems: Problems) -> Iterator[_Entry]:
    if last < first:
        problems.add(where, f"found {first}..{last}, which holds no seed; expected the smaller end first")
    elif _fits(first, where, "", problems) and _fits(last, where, "", problems):
        if last - first >= MOST_TRIALS:
            message = f"found {first}..{last}, which are {last - first + 1:,} seeds; expected at most {MOST_TRIALS:,}"
            problems.add(where, message)
        else:
            yield _Entry(range(first, last + 1), where, f"{first}..{last}")


def _mapping(given: dict[str, Any], where: Path, context: Context) -> Iterator[_Entry]:
    problems, before = context.problems, len(context.problems)
    for key in [key for key in given if key not in _KEYS]:
        problems.add((*where, key), f"unknown key; expected some of {', '.join(_KEYS)}", did_you_mean(key, _KEYS))
    if len(problems) > before:
        return
    if set(given) == {"file"} and isinstance(given["file"], str):
        yield from _file(given["file"], (*where, "file"), context)
        return
    if set(given) not in ({"from", "to"}, {"from", "count"}):
        found = ", ".join(given) or "no key"
        problems.add(where, f"found {found}; expected from and to, from and count, or file")
        return
    for key, value in given.items():
        if not isinstance(value, int) or isinstance(value, bool):
            problems.add((*where, key), f"found {shown(value)}; expected an integer")
    if len(problems) == before and given.get("count", 1) < 1:
        problems.add((*where, "count"), f"found {given['count']}; expected at least 1")
    if len(problems) == before:
        last = given["to"] if "to" in given else given["from"] + given["count"] - 1
        yield from _range(given["from"], last, where, problems)


def _file(name: str, where: Path, context: Context) -> Iterator[_Entry]:
    """What a file lists: a JSON list, or an integer (or a range) a line; blank lines and what follows a # are passed
    over."""
    problems, before = context.problems, len(context.problems)
    path = existing_file(name, where, context)
    if len(problems) > before:
        return
    try:
        if FilePath(path).stat().st_size > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES // 2**20} MiB")
        text = FilePath(path).read_text(encoding="utf-8-sig")
        entries = list(_json_entries(text) if text.lstrip().startswith("[") else _lines(text))
    except (OSError, ValueError, RecursionError) as error:
        problems.add(where, f"{path} cannot be read as a list of seeds: {error}")
        return
    if not entries:
        problems.add(where, f"{path} lists no seed; expected an integer a line, or a JSON list")
    for place, entry in entries:
        yield from _of_file(entry, f"{path}, {place}", where, problems)


def _of_file(entry: Any, place: str, where: Path, problems: Problems) -> Iterator[_Entry]:
    """What is wrong with an entry of a file is told with its place in the file."""
    match = _RANGE.fullmatch(entry) if isinstance(entry, str) else None
    if match is not None:
        for found in _range(int(match[1]), int(match[2]), where, problems):
            yield _Entry(found.seeds, where, place)
    elif isinstance(entry, bool) or not (isinstance(entry, int) or re.fullmatch(r"-?\d{1,80}", str(entry))):
        problems.add(where, f"{place}: found {shown(entry)}; expected an integer")
    elif _fits(int(entry), where, f"{place}: ", problems):
        yield _Entry((int(entry),), where, place)


def _json_entries(text: str) -> Iterator[tuple[str, Any]]:
    for i, entry in enumerate(json.loads(text)):
        yield f"entry {i + 1}", entry.strip() if isinstance(entry, str) else entry


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if entry := line.partition("#")[0].strip():
            yield f"line {number}", entry
