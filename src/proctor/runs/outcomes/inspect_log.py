"""Logs of Inspect, as `.json` and as `.eval`, a zip of JSON: a sample in an epoch is a trial.

One scorer decides: the first, unless another is named; the numbers of the others are metrics. Its values are successes
where all are right or wrong (C and I, true and false, 1 and 0); where some lie between, they are scores, and nothing
says what success is. A sample that broke is unscored: the log does not say who broke it.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from proctor.errors import InputError
from proctor.foreign import MOST_TEXT, read_text
from proctor.registry import did_you_mean
from proctor.runs.outcomes.rows import Outcomes, Raw, listed, mapped, numbers, text
from proctor_host.episode import Outcome

KIND = "inspect"
VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Right, wrong, partly right, no answer: as numbers, as Inspect takes them."""
ZSTANDARD = 93


def is_inspect(data: Any) -> bool:
    return isinstance(data, Mapping) and {"version", "status", "eval"} <= data.keys()


def read_inspect(data: Mapping[str, Any], agent: str | None, scorer: str | None) -> Outcomes:
    """The samples. `agent` is what the user calls the model, where it is not to have the log's name."""
    about = mapped(data["eval"], "eval")
    samples = [mapped(one, f"samples[{i}]") for i, one in enumerate(listed(data.get("samples"), "samples"))]
    name = agent or text(about.get("model")) or "model"
    chosen = _scorer(about, samples, scorer)
    values = [_value(sample, chosen) for sample in samples]
    graded = any(value not in (None, 0.0, 1.0) for value in values)
    paired = all(type(sample.get("id")) is int and sample["id"] >= 0 for sample in samples)
    raws = [
        Raw(
            f"samples[{place}]",
            {
                "agent": name, "task": text(about.get("task")), "trial": text(sample.get("epoch", 1)),
                "case": text(sample.get("id")), **({"seed": text(sample["id"])} if paired else {}),
                **_outcome(sample, values[place], graded), **_others(sample, chosen),
            },
            _error(sample),
        )
        for place, sample in enumerate(samples)
    ]  # fmt: skip
    if not paired:
        raws = [Raw(raw.where, {**raw.cells, "trial": str(place)}, raw.error) for place, raw in enumerate(raws)]
    return Outcomes(KIND, raws, tuple(_notes(data, chosen, graded, paired)))


def unpacked(path: Path) -> dict[str, Any]:
    """A `.eval` file as its `.json` would be, with what is needed of each sample. Raises ValueError where it is no such
    file."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            header = "header.json" if "header.json" in names else "_journal/start.json"
            parts = ["summaries.json"] if "summaries.json" in names else sorted(filter(_is_summary, names))
            about = _member(path, archive, header)
            samples = [sample for part in parts for sample in listed(_member(path, archive, part), part)]
    except (zipfile.BadZipFile, KeyError, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"no whole log of Inspect: {error}") from None
    return {"version": 2, "status": "started", **mapped(about, header), "samples": samples}


def _is_summary(name: str) -> bool:
    return name.startswith("_journal/summaries/")


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> Any:
    """JSON in a zip. Newer logs are packed with Zstandard, which DuckDB reads."""
    info = archive.getinfo(name)
    if info.file_size > MOST_TEXT:
        raise ValueError(f"{name} holds {info.file_size:,} bytes; expected at most {MOST_TEXT:,}")
    if info.compress_type != ZSTANDARD:
        return json.loads(read_text(archive, name))
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        packed = os.path.join(folder, "member.json.zst")
        Path(packed).write_bytes(_stored(path, info))
        options = f"format='unstructured', compression='zstd', maximum_object_size={MOST_TEXT}"
        try:
            with duckdb.connect() as database:
                found = database.execute(f"SELECT json FROM read_json_objects(?, {options})", [packed]).fetchall()
        except duckdb.Error as error:
            raise ValueError(f"{name} cannot be unpacked: {str(error).splitlines()[0]}") from None
    return json.loads(found[0][0]) if found else None


def _stored(path: Path, info: zipfile.ZipInfo) -> bytes:
    """The bytes of a member as they lie in the zip: after its own header of 30 bytes, a name and an extra field."""
    with path.open("rb") as file:
        file.seek(info.header_offset + 26)
        lengths = struct.unpack("<HH", file.read(4))
        file.seek(sum(lengths), os.SEEK_CUR)
        return file.read(min(info.compress_size, MOST_TEXT))


def _scorer(about: Mapping[str, Any], samples: list[Mapping[str, Any]], wanted: str | None) -> str:
    named = [one.get("name") for one in about.get("scorers") or [] if isinstance(one, Mapping)]
    known = list(dict.fromkeys([*filter(None, named), *(key for sample in samples for key in _scores(sample))]))
    if wanted is not None and wanted not in known:
        raise InputError(f"no scorer {wanted}; the log has {', '.join(known) or 'none'}{did_you_mean(wanted, known)}")
    if not known:
        raise InputError("no sample has a score; expected a log whose samples were scored")
    return wanted or known[0]


def _scores(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    found = sample.get("scores")
    return found if isinstance(found, Mapping) else {}


def _value(sample: Mapping[str, Any], scorer: str) -> float | None:
    """The scorer's value as a number; None where there is none."""
    score = _scores(sample).get(scorer)
    value = score.get("value") if isinstance(score, Mapping) else None
    if isinstance(value, str):
        return VALUES.get(value)
    return float(value) if isinstance(value, bool | int | float) else None


def _outcome(sample: Mapping[str, Any], value: float | None, graded: bool) -> dict[str, str]:
    if value is None or sample.get("error"):
        return {"outcome": Outcome.ENV_ERROR.value}
    return {"outcome": Outcome.DONE.value, "score": repr(value)} if graded else {"success": str(int(value))}


def _error(sample: Mapping[str, Any]) -> str | None:
    error = sample.get("error")
    told = error.get("message") if isinstance(error, Mapping) else error
    return None if not told else str(told).strip().splitlines()[0]


def _others(sample: Mapping[str, Any], chosen: str) -> dict[str, str]:
    """Numbers of the other scorers, and the seconds that the sample took."""
    found: dict[str, Any] = {"total_time_s": sample.get("total_time")}
    for name, score in _scores(sample).items():
        value = score.get("value") if isinstance(score, Mapping) else None
        parts = {f"{name}/{key}": part for key, part in value.items()} if isinstance(value, Mapping) else {name: value}
        found |= {} if name == chosen else {key: VALUES.get(part, part) if isinstance(part, str) else part
                                            for key, part in parts.items()}  # fmt: skip
    return numbers(found)


def _notes(data: Mapping[str, Any], chosen: str, graded: bool, paired: bool) -> Iterator[str]:
    what = "its values are scores, and nothing says what success is" if graded else "it says what success is"
    yield f"the scorer {chosen} decides: {what}; --scorer NAME takes another"
    if paired:
        yield "seeds are the ids of the samples, so that agents are paired by sample; a model's own seeds are not known"
    else:
        yield "ids of samples are no numbers, so agents are compared unpaired; they are kept as cases"
    if data["status"] != "success":
        yield f"the log says that the evaluation ended with the status {data['status']}: samples may be missing"
