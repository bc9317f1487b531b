"""The same adapter on the real packages, where hf-libero and robosuite are installed (extra `libero`), with boxes for
its assets: the laws of an environment, and cameras whose shutter changes nothing."""

from __future__ import annotations

import functools
import importlib.util
import tempfile
from pathlib import Path

import libero_stand_ins
import pytest

from proctor.suites.libero.env import LiberoEnv
from proctor.suites.libero.installation import Libero, import_libero, read_states
from proctor.suites.libero.suite import TASKS, LiberoOptions
from proctor.testing import EnvConformance

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("libero") is None or importlib.util.find_spec("robosuite") is None,
        reason="hf-libero is not installed (it needs an environment of its own)",
    ),
    pytest.mark.filterwarnings("default"),
]


KEPT: list[tempfile.TemporaryDirectory[str]] = []


@functools.cache
def installed() -> Libero:
    KEPT.append(tempfile.TemporaryDirectory(prefix="proctor-libero-assets-"))
    return import_libero(str(libero_stand_ins.write_assets(Path(KEPT[-1].name) / "assets")))


class TestInstalled(EnvConformance):
    steps = 4

    def make(self) -> LiberoEnv:
        return LiberoEnv(installed(), LiberoOptions(benchmark="object", task=0, render_px=48, image_px=40))


def test_every_task_has_its_files() -> None:
    for benchmark, count in TASKS.items():
        for number in range(count):
            task = installed().task(benchmark, number)
            assert len(read_states(task.states_file)) == 50
            assert len(task.instruction.encode()) <= 128
