"""How quick the viewer is, how much memory it takes, and what looking at a run costs the run.

`python -m benchmarks.view [--trials 100000]` starts `proctor view` on a made-up run and asks it what a browser asks;
times are of answers, and by the clock. What a run pays is at most the processor time of a viewer with a page open on
it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

import numpy as np

from benchmarks.report_scale import made_up
from benchmarks.table import Row
from proctor.record.rundir import RunDir
from proctor_host.npz import write_npz

STEPS, SIGNALS = 2000, 40
GOALS = {"open": 1.0, "filter": 0.2, "trial": 0.3, "memory": 300.0, "live": 0.01}
RUN = """
import sys
from proctor import config_from_dict, run_evaluation
run_evaluation(config_from_dict({
    "agents": [{"policy": "random"}], "tasks": [{"suite": "gymnasium", "options": {"id": "CartPole-v1"}}],
    "n_trials": int(sys.argv[2]), "output_root": sys.argv[1], "workers": "inline", "scoring": "return",
}))
"""


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """A viewer over a folder: its address and the number of its process."""
    command = [sys.executable, "-m", "proctor", "view", str(folder), "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r"http://\S+/", line)
        assert found is not None, line
        yield found[0].rstrip("/"), process.pid
    finally:
        process.terminate()
        process.wait()


def asked(address: str, *paths: str) -> float:
    """Seconds until all of these have been answered, one after the other."""
    began = time.perf_counter()
    for path in paths:
        with urlopen(address + path) as answer:
            answer.read()
    return time.perf_counter() - began


def view(repeats: int, trials: int = 100_000) -> list[Row]:
    """`proctor view` on a run of 100,000 trials; what watching costs a run."""
    rounds = [answers(trials) for _ in range(repeats)]
    middle = {name: median(found[name] for found in rounds) for name in rounds[0]}
    cost = live()
    names = {
        "open": f"view, {trials:,} trials, opened",
        "filter": "view, the same filtered, the slowest of five",
        "trial": f"view, a trial of {STEPS:,} steps with {SIGNALS} signals",
        "memory": "view, memory after all that",
    }
    rows = [
        Row(name, middle[key], GOALS[key], "the goal", "MiB" if key == "memory" else "s", f"under {GOALS[key]:g}",
            middle[key] < GOALS[key], middle[key] / GOALS[key])
        for key, name in names.items()
    ]  # fmt: skip
    said = "processor time of the viewer whose page is open on a run, after its first look, over that of the run"
    share = cost / GOALS["live"]
    return [
        *rows,
        Row("view, what a run pays", cost, GOALS["live"], "the goal", "", "under 0.01", cost < 0.01, share, said),
    ]


def answers(trials: int) -> dict[str, float]:
    """Seconds of answers and MiB of the server."""
    with tempfile.TemporaryDirectory() as folder:
        run = made_up(Path(folder), trials)
        key = _recorded(run)
        at = f"/api/runs/{run.name}"
        with served(Path(folder)) as (address, number):
            asked(address, "/static/main.js")
            first = asked(address, f"{at}/trials?limit=100")
            asked(address, at, f"{at}/columns")
            filters = ("agent=agent1&outcome=truncated", "range=wall_force_max:0.5:", "sort=-score", "seed=130",
                       "text=unstable")  # fmt: skip
            slowest = max(asked(address, f"{at}/trials?limit=100&{text}") for text in filters)
            whole = asked(address, f"{at}/trial?trial={quote(key)}", f"{at}/series?trial={quote(key)}")
            return {"open": first, "filter": slowest, "trial": whole, "memory": _peak_mib(number)}


def _recorded(run: Path) -> str:
    """Give the first trial of a made-up run a record of its own; its key."""
    rng = np.random.default_rng(0)
    arrays = {f"signal{i:02d}": rng.normal(size=STEPS).cumsum() for i in range(SIGNALS - 2)}
    arrays |= {"actions": rng.normal(size=(STEPS, 2)), "rewards": rng.normal(size=STEPS), "action_dt_s": np.array(0.02)}
    arrays |= {name: np.zeros(STEPS, bool) for name in ("terminals", "truncations", "success")}
    first = next(RunDir(run).results())
    assert first.npz is not None
    write_npz(run / first.npz, arrays)
    return first.trial.key


def _peak_mib(number: int) -> float:
    status = Path(f"/proc/{number}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return float(found[1]) / 1024 if found else float("nan")


def live(trials: int = 8000) -> float:
    """Processor time of a viewer, one of whose pages is open on a run, over that of the run: what the run pays at most,
    where every processor is busy. The first look, which is the same for a run of any length, is left out."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (address, number):
        subprocess.run([sys.executable, "-c", RUN, folder, "20"], check=True)
        seen = _watched(address, number)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", RUN, folder, str(trials)], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return (_processor_s(number) - next(seen)) / spent


def _watched(address: str, number: int) -> Iterator[float]:
    """Open the page of the next run, as a browser does; then the viewer's processor seconds after its first look."""
    first: list[float] = []

    def watch() -> None:
        known = {run["id"] for run in _runs(address)}
        while not (new := [run["id"] for run in _runs(address) if run["id"] not in known]):
            time.sleep(0.5)
        at = f"/api/runs/{new[0]}"
        asked(address, at)
        with urlopen(f"{address}{at}/events") as stream:
            for line in stream:
                if line.startswith(b"event: run"):
                    with contextlib.suppress(HTTPError):
                        asked(address, f"{at}/report")
                    first.append(_processor_s(number))

    threading.Thread(target=watch, daemon=True).start()

    def after() -> Iterator[float]:
        yield first[0]

    return after()


def _runs(address: str) -> list[dict[str, str]]:
    with urlopen(f"{address}/api/runs") as answer:
        return json.load(answer)["runs"]


def _processor_s(number: int) -> float:
    """Seconds of processor time that a process has taken."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.view", description=__doc__)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=1)
    given = parser.parse_args(arguments)
    print(f"load before the run {os.getloadavg()[0]:.2f}")
    rows = view(given.repeats, given.trials)
    for row in rows:
        print(f"{row.name}: {row.proctor:.3g} {row.unit} (goal {row.other:g})")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
