"""The host in real interpreters: whatever Python and numpy an environment has, its records are the same bytes."""

from __future__ import annotations

import functools
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examining import examination

from proctor import InputError, Run, config_from_dict, run_evaluation
from proctor.rollout.backends import channel, host
from proctor.runtimes.asking import find_interpreter
from proctor_host.codec import PROTOCOL

SUITE = f"{Path(__file__).parents[1] / 'support' / 'many_worlds.py'}:ManyWorlds"
POLICIES = Path(__file__).parents[1] / "support" / "hosted_policies.py"
VERSIONS = {"3.8": "numpy==1.17.*", "3.9": "numpy==1.19.*", "3.10": "numpy==1.26.*", "3.13": "numpy>=2.1"}
"""Python -> numpy: both ends of what the host promises, and some between."""


def worlds(kind: str, runtime: Any, **options: Any) -> dict[str, Any]:
    return {"suite": SUITE, "name": "world", "runtime": runtime, "options": {"kind": kind, **options}}


AGENTS = [{"name": "random", "policy": "random"}]


def records(run: Run) -> dict[str, Any]:
    assert all(result.outcome.scored and not result.outcome.broken_by_policy for result in run.results())
    return {r.trial.key: (r.digest, r.trace, r.outcome, r.metrics, r.npz_crc) for r in run.results()}


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """An interpreter of a version with its numpy; the test is skipped where the machine has none, or no registry."""
    folder = tmp_path_factory.mktemp("interpreters")

    def make(version: str) -> str:
        try:
            found = find_interpreter(version)
        except InputError as error:
            pytest.skip(str(error))
        python = folder / version / "bin" / "python"
        if not python.exists():
            bare = [found.path, "-m", "venv", "--without-pip", str(folder / version)]
            subprocess.run(bare, check=True, capture_output=True)
            pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
            wanted = [*pip, "install", "-q", "--no-compile", VERSIONS[version]]
            installed = subprocess.run(wanted, capture_output=True, text=True)
            if installed.returncode:
                python.unlink()
                pytest.skip(f"{VERSIONS[version]} cannot be installed for Python {version}: {installed.stderr[-200:]}")
        return str(python)

    return make


def environments_in(runtime: Any) -> dict[str, Any]:
    """An examination whose environments, of every kind, live in this runtime."""
    tasks = [{**worlds(kind, runtime), "name": kind} for kind in ("env", "rows", "batch", "columns")]
    return {"agents": AGENTS, "tasks": tasks, "n_trials": 3, "num_parallel": 3, "record": {"observations": True}}


def policies_in(runtime: Any) -> dict[str, Any]:
    """An examination whose policies live in this runtime."""
    names = ("Drawing", "Planned", "plain", "drawn", "Remembering", "READY")
    agents = [{"name": name.lower(), "policy": f"{POLICIES}:{name}", "runtime": runtime} for name in names]
    task = {"suite": "gymnasium", "name": "cart", "options": {"id": "CartPole-v1"}, "max_episode_steps": 30}
    return {"agents": agents, "tasks": [task], "n_trials": 3}


@pytest.fixture(scope="module")
def at_home(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Callable[[Any], dict[str, Any]]], dict[str, Any]]:
    """The records of such an examination in this interpreter, which runs once."""

    @functools.cache
    def run(keys: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return records(run_evaluation(config_from_dict(examination(tmp_path_factory.mktemp("here"), **keys(None)))))

    return run


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("keys", [environments_in, policies_in])
def test_records_do_not_tell_in_which_python_an_environment_or_a_policy_lived(
    examine: Callable[..., Run], other: Callable[[str], str], at_home: Any, keys: Any, version: str
) -> None:
    assert records(examine(workers=1, **keys({"python": other(version)}))) == at_home(keys)


def test_nothing_of_proctor_is_run_in_a_runtime_but_what_the_environment_needs(tmp_path: Path) -> None:
    code = (
        "from proctor_host.child import serve_modules; import sys\n"
        f"serve_modules({host.ROOT!r})\n"
        "import proctor.suites.metaworld.tasks as tasks\n"
        "print(len(tasks.INSTRUCTIONS) > 40, hasattr(sys.modules['proctor'], '__version__'), 'pydantic' in sys.modules)"
    )
    done = subprocess.run(host.command_of(sys.executable, code), capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.split() == ["True", "False", "False"], done.stderr


def test_files_in_the_working_directory_hide_nothing_in_a_runtime(tmp_path: Path) -> None:
    for name in ("random.py", "numpy.py", "importlib.py"):
        (tmp_path / name).write_text("raise SystemExit('hijacked')")
    code = "import random, numpy; print(numpy.__version__)"
    done = subprocess.run(host.command_of(sys.executable, code), capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_another_protocol_is_refused_with_both_versions(
    examine: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "PROTOCOL", PROTOCOL + 1)
    with pytest.raises(
        InputError, match=rf"refuses to work: proctor-host \S+ speaks protocol {PROTOCOL}, proctor \S+ "
    ):
        examine(tasks=[worlds("env", {"python": sys.executable})], n_trials=1)


def test_an_environment_that_is_not_there_is_named_with_the_interpreter(
    examine: Callable[..., Run], tmp_path: Path
) -> None:
    venv.create(tmp_path / "empty", with_pip=False, system_site_packages=False)
    bare = tmp_path / "empty" / "bin" / "python"
    with pytest.raises(InputError, match="numpy"):
        examine(tasks=[worlds("env", {"python": str(bare)})], n_trials=1)


def test_a_suite_that_does_not_say_how_it_is_made_elsewhere_says_so(examine: Callable[..., Run]) -> None:
    suite = f"{Path(__file__).parents[1] / 'support' / 'row_worlds.py'}:RowSuite"
    task = {"suite": suite, "runtime": {"python": sys.executable}}
    with pytest.raises(InputError, match="does not say how its environments are made in another interpreter"):
        examine(tasks=[task], n_trials=1)


@pytest.mark.parametrize("level", ["summary", "series"])
def test_metrics_are_computed_by_the_engine_whatever_is_kept(examine: Callable[..., Run], level: str) -> None:
    keys: Any = {"agents": AGENTS, "n_trials": 2, "record": {"level": level}}
    here = examine(tasks=[worlds("env", None)], **keys)
    there = examine(tasks=[worlds("env", {"python": sys.executable})], **keys)
    assert records(there) == records(here)
    assert all(result.metrics for result in there.results())


@pytest.mark.parametrize("trouble", ["reward='x'", "terminated='False'", "state=nan"])
def test_faults_are_named_as_at_home(examine: Callable[..., Run], trouble: str) -> None:
    keys: Any = {"agents": AGENTS, "n_trials": 1, "limits": {"retries": 0}}
    here, there = (
        [(r.outcome, (r.error or "").splitlines()[0]) for r in run.results()]
        for run in (
            examine(tasks=[worlds("env", None, odd=trouble)], **keys),
            examine(tasks=[worlds("env", {"python": sys.executable}, odd=trouble)], **keys),
        )
    )
    assert there == here
    assert here[0][0] == "env_error"
