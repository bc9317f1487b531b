"""Running one side of a comparison in a process of its own.

The vla-eval side has a virtual environment of its own, `.venv-bench`, made on first use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VLA_EVAL = "vla-eval==0.8.0"
VLA_EVAL_ENV = ROOT / ".venv-bench"

Measured = dict[str, float]


def proctor(*arguments: str) -> Measured:
    return _json([sys.executable, "-m", "benchmarks.proctor_side", *arguments])


def bare(*arguments: str) -> Measured:
    return _json([sys.executable, "-m", "benchmarks.bare_side", *arguments])


def endovascular(*arguments: str) -> Measured:
    return _json([sys.executable, "-m", "benchmarks.endovascular", *arguments])


def soccer(*arguments: str) -> Measured:
    return _json([sys.executable, "-m", "benchmarks.soccer", *arguments])


def staged(*arguments: str) -> Measured:
    return _json([sys.executable, "-m", "benchmarks.staged", *arguments])


def vla_eval(*arguments: str) -> Measured:
    """Every configuration that was tried, with its steps per second."""
    script = ROOT / "benchmarks" / "vla_eval_side.py"
    return _json([str(_vla_eval_python()), str(script), *arguments])


def _vla_eval_python() -> Path:
    """The interpreter of an environment that has vla-eval, and nothing else, installed."""
    python = VLA_EVAL_ENV / "bin" / "python"
    done = VLA_EVAL_ENV / VLA_EVAL
    if not done.exists():
        print(f"installing {VLA_EVAL} into {VLA_EVAL_ENV.name} ...", file=sys.stderr, flush=True)
        venv.create(VLA_EVAL_ENV, with_pip=True, clear=True)
        output([str(python), "-m", "pip", "install", VLA_EVAL])
        done.touch()
    return python


def _json(command: list[str]) -> Measured:
    return last_json(output(command))


def last_json(said: str) -> Measured:
    """The last line that a command printed, as JSON."""
    return json.loads(said.strip().splitlines()[-1])


def output(command: list[str], tree: Path = ROOT, codes: tuple[int, ...] = (0,)) -> str:
    """What the command prints, run in a checkout without a PYTHONPATH from outside. Raises RuntimeError where it ends
    with another code than these."""
    finished = subprocess.run(command, cwd=tree, env=environment(), capture_output=True, text=True, check=False)
    if finished.returncode not in codes:
        raise RuntimeError(f"{' '.join(command)} failed:\n{finished.stdout}\n{finished.stderr}")
    return finished.stdout


def environment() -> dict[str, str]:
    """This process's environment without PYTHONPATH."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
