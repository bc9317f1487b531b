"""What tests of several folders share."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from examining import examination
from hypothesis import settings
from installed import plug  # noqa: F401 - a fixture
from telling import Said, Tell

from proctor import Run, config_from_dict, run_evaluation, threads
from proctor.cli import main
from proctor.runs import report

settings.register_profile("proctor", deadline=None)
settings.load_profile("proctor")  # machines are shared: how long an example takes says nothing

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
"""Threads of OpenMP that have nothing to do sleep; by default they spin, which on a busy machine takes the time of the
others: training a tiny network took 25 s of processor time instead of 5."""

SLOW = frozenset(Path(__file__).with_name("slow.txt").read_text().split())
"""Tests that take long, as `scripts/list_slow_tests.py` measured them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests, so that `-m "not slow"` (`make quick`) leaves them out. Tests that may take longer than any
    other begin first, so that none of them is the last that runs."""
    items.sort(key=lambda item: -max((mark.args[0] for mark in item.iter_markers("timeout")), default=0))
    for item in items:
        if item.nodeid.partition("[")[0] in SLOW:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays to the end. Nobody looks for garbage in it meanwhile, nor later: with every
    package that a test uses, each look would take a second."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests remember nothing in the user's own state folder, and find no runtimes that the user has installed. Of what
    they install, only what is imported is compiled, which is little of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_COMPILE", "1")
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("PROCTOR_RUNTIMES", str(tmp_path_factory.mktemp("runtimes")))
        yield


@pytest.fixture(scope="module", autouse=True)
def pictures_where_they_are_tested(request: pytest.FixtureRequest) -> Iterator[None]:
    """A run draws its worst trials, in a process that loads the simulator again, in modules marked `pictures` alone."""
    with pytest.MonkeyPatch.context() as patch:
        if request.node.get_closest_marker("pictures") is None:
            patch.setattr(report, "portray", lambda *_: None)
        yield


@pytest.fixture(autouse=True)
def nothing_is_left_pinned() -> Iterator[None]:
    """Whoever pins numeric threads gives them back, also where a test ends a run in the middle."""
    yield
    assert threads.pinned_number() is None, "this test left numeric threads pinned: what it started still runs"


@pytest.fixture
def examine(tmp_path: Path) -> Callable[..., Run]:
    """Run an examination of toys with these keys."""

    def run(**keys: Any) -> Run:
        return run_evaluation(config_from_dict(examination(tmp_path, **keys)))

    return run


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tell:
    """Say something to the command line; in this process, which is quicker."""

    def run(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["proctor", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return Said(int(ended.value.code or 0), *capsys.readouterr())

    return run
