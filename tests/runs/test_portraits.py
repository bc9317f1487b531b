"""Pictures of the worst trials: drawn once, kept in the folder, and shown without the simulator."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from drawing import needs_frames

from proctor.config.load import config_from_dict
from proctor.record.moments import LIST, read_portraits
from proctor.record.rundir import RunDir
from proctor.runs import portraits
from proctor.runs.report import read_report, write_report
from proctor.runs.start import start

pytestmark = pytest.mark.pictures
MOTIONS = ["procedural:wave", "procedural:reach"]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run of two agents that track a motion, with its pictures."""
    needs_frames()
    cfg = config_from_dict(
        {
            "name": "looks",
            "agents": [{"name": "hold", "policy": "tracking/hold"}, {"name": "still", "policy": "zero"}],
            "tasks": [{"suite": "tracking", "options": {"motions": MOTIONS, "threads": 1}}],
            "n_trials": 2,
            "workers": "inline",
            "max_episode_steps": 60,
            "output_root": str(tmp_path_factory.mktemp("runs")),
        }
    )
    return start(cfg).run.path


@pytest.fixture
def run(drawn: Path, tmp_path: Path) -> RunDir:
    """A copy of its own."""
    return RunDir.open(shutil.copytree(drawn, tmp_path / "run"))


@pytest.fixture
def no_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(job: Any) -> Any:
        raise AssertionError("nothing may be drawn")

    monkeypatch.setattr(portraits, "_asked", asked)


def pictures(run: RunDir) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((run.path / "pictures").iterdir())}


def page(run: RunDir) -> str:
    return (run.path / "report.html").read_text()


def test_the_worst_trials_are_drawn_at_three_moments(run: RunDir) -> None:
    found = read_portraits(run.path)
    assert len(found) == 3
    report, _ = read_report(run)
    assert set(found) == {trial.npz for trial in report.worst[:3]}
    for portrait in found.values():
        assert portrait.skipped is None
        assert [shot.name for shot in portrait.shots] == ["start", "worst", "end"]
        assert portrait.shots[0].words == "0.00 s"
        looks = [(run.path / shot.file).read_bytes() for shot in portrait.shots]
        assert all(look.startswith(b"\x89PNG") for look in looks)
        assert looks[0] != looks[2], "the robot has moved"
        for shot in portrait.shots:
            assert f'src="{shot.file}"' in page(run)


@pytest.mark.usefixtures("no_simulator")
def test_another_report_keeps_them_and_needs_no_simulator(run: RunDir) -> None:
    before = pictures(run)
    write_report(run)
    assert pictures(run) == before
    assert page(run).count("<img ") == 9
    report, _ = read_report(run)
    assert len(report.data("moments").portraits) == 3


@pytest.mark.usefixtures("no_simulator")
def test_a_report_elsewhere_takes_its_pictures_along(run: RunDir, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    write_report(run, out=tmp_path / "elsewhere")
    shots = [shot.file for portrait in read_portraits(run.path).values() for shot in portrait.shots]
    assert all((tmp_path / "elsewhere" / file).read_bytes() == (run.path / file).read_bytes() for file in shots)


def test_drawn_again_the_bytes_are_the_same(run: RunDir) -> None:
    before = pictures(run)
    shutil.rmtree(run.path / "pictures")
    write_report(run)
    assert pictures(run) == before


def test_without_a_renderer_the_page_says_why_and_the_next_report_tries_again(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = pictures(run)
    shutil.rmtree(run.path / "pictures")
    with monkeypatch.context() as patched:
        patched.setenv("MUJOCO_GL", "glfw")
        patched.delenv("DISPLAY", raising=False)
        patched.delenv("WAYLAND_DISPLAY", raising=False)
        write_report(run)
    assert "3 trials could not be drawn: " in page(run)
    assert "<img " not in page(run)
    assert [path.name for path in (run.path / "pictures").iterdir()] == [Path(LIST).name]
    write_report(run)
    assert pictures(run) == before


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import os; os.kill(os.getpid(), 11)", "the process that draws ended with status -11: it said nothing"),
        ("raise SystemExit('no paint')", "the process that draws ended with status 1: no paint"),
        ("print('{}')", "no answer"),
    ],
)
def test_a_process_that_dies_costs_the_pictures_alone(
    run: RunDir, monkeypatch: pytest.MonkeyPatch, program: str, reason: str
) -> None:
    shutil.rmtree(run.path / "pictures")
    monkeypatch.setattr(portraits, "PROGRAM", ("-c", program))
    write_report(run)
    assert {portrait.skipped for portrait in read_portraits(run.path).values()} == {reason}
    assert reason in page(run)


@pytest.mark.usefixtures("no_simulator")
def test_pictures_can_be_left_out(run: RunDir) -> None:
    for sets in (["report.pictures=false"], ["report.sections=[ranking]"]):
        write_report(run, sets)
        assert read_portraits(run.path) == {}
        assert [path.name for path in (run.path / "pictures").iterdir()] == [Path(LIST).name]


def test_a_record_that_changed_is_drawn_anew(run: RunDir) -> None:
    npz, portrait = next(iter(read_portraits(run.path).items()))
    others = [path for path in (run.path / "trials").iterdir() if path.name != Path(npz).name]
    shutil.copyfile(others[0], run.path / npz)
    write_report(run)
    assert read_portraits(run.path)[npz].sha256 != portrait.sha256
