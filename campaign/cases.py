"""Fuzzed cases, one after the other, in a process of their own: `python -m campaign.cases KIND FIRST COUNT FOLDER`.

Prints a line of JSON as a case begins and one as it ends, so that whoever reads them knows which case hung or crashed.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import sys
import tempfile
from pathlib import Path

from campaign.corpus import Corpus
from campaign.grammar import text
from campaign.guarded import Said, Writes, say

MEMORY = 12 << 30
"""Bytes of address space: what asks for more is refused it."""


def main() -> None:
    kind, first, count, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    (folder / "temporary").mkdir(exist_ok=True)
    tempfile.tempdir = str(folder / "temporary")
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    tell = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not for the reader
    corpus = Corpus(folder / "corpus") if kind == "files" else None
    writes = Writes(folder)
    for seed in range(first, first + count):
        tell.write(json.dumps({"begun": seed}) + "\n")
        tell.flush()
        rng, here = random.Random(seed), folder / "case"
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        writes.watching = True
        what, commands = _config(rng, here) if corpus is None else corpus.damage(rng, here)
        said = [(command, say(command)) for command in commands]
        writes.watching = False
        tell.write(json.dumps({"ended": seed, "what": what, "troubles": _troubles(said, writes)}) + "\n")
        tell.flush()


def _config(rng: random.Random, here: Path) -> tuple[str, list[list[str]]]:
    path = here / "config.yml"
    path.write_bytes(text(rng).encode("utf-8", "surrogatepass"))
    commands = [["check", str(path), "--set", f"output_root={here / 'runs'}"]]
    if rng.random() < 0.05 and _is_small(path):
        commands.append(["run", str(path), "--set", f"output_root={here / 'runs'}", "--set", "workers=inline"])
    return "config", commands


def _is_small(path: Path) -> bool:
    """Whether the config is valid and plans few enough trials to run them."""
    from proctor import load_config
    from proctor.errors import ProctorError

    try:
        cfg = load_config(path)
    except ProctorError:
        return False
    most = max([cfg.n_trials, *(task.n_trials or 0 for task in cfg.tasks)])
    return most * len(cfg.agents) * len(cfg.tasks) <= 30 and (cfg.max_episode_steps or 10**9) <= 100 and not cfg.loggers


def _troubles(said: list[tuple[list[str], Said]], writes: Writes) -> list[list[str]]:
    found: list[list[str]] = []
    for command, end in said:
        line = f"proctor {' '.join(command)}"
        if end.trace:
            found.append(["traceback", f"{line}: {end.trace.strip()[-1500:]}"])
        elif end.code not in (0, 1, 2):
            found.append(["unexplained", f"{line}: exit code {end.code}: {end.text.strip()[-500:]}"])
    found += [["unexplained", f"written elsewhere: {path}"] for path in dict.fromkeys(writes.found)]
    writes.found.clear()
    return found


if __name__ == "__main__":
    main()
