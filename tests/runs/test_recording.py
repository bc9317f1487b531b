"""What is kept of each trial, as the config asks: summary, series, observations, video."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examining import digests, odd, odd_task

from proctor import InputError, Run
from proctor.runs.resume import resume

Examine = Callable[..., Run]

CARTPOLE: dict[str, Any] = {
    "agents": [{"name": "zero", "policy": "zero"}, {"name": "random", "policy": "random"}],
    "tasks": [{"suite": "gymnasium", "options": {"id": "CartPole-v1", "success": {"return_at_least": 12}}}],
    "n_trials": 3,
}


def frames(path: Path) -> int:
    av = pytest.importorskip("av", reason="the extra `video` is not installed")
    with av.open(str(path)) as container:
        return sum(1 for _ in container.decode(video=0))


def film(examine: Examine, **video: Any) -> Run:
    pytest.importorskip("av", reason="the extra `video` is not installed")
    pytest.importorskip("pygame", reason="CartPole draws with pygame")
    return examine(**CARTPOLE, record={"level": "video", "video": video})


@pytest.mark.parametrize(
    ("video", "wanted"),
    [
        ({}, lambda r: r.trial.index < 1),
        ({"trials": "first", "first": 2}, lambda r: r.trial.index < 2),
        ({"trials": "failures"}, lambda r: not r.success),
        ({"trials": "all"}, lambda r: True),
    ],
)
def test_the_chosen_trials_have_a_film_with_a_frame_for_each_state(
    examine: Examine, video: dict[str, Any], wanted: Callable[[Any], bool]
) -> None:
    run = film(examine, **video)
    results = list(run.results())
    assert {r.success for r in results} == {True, False}
    expected = {f"videos/{Path(r.npz or '').stem}_{r.outcome}.mp4": r.steps_total + 1 for r in results if wanted(r)}
    assert {r.video for r in results if r.video is not None} == set(expected)
    found = {f"videos/{p.name}": frames(p) for p in (run.path / "videos").glob("*.mp4")}
    assert found == expected
    kept = {p.stem for p in (run.path / "videos").iterdir() if p.suffix == ".jpg"}
    assert kept == {Path(video).stem for video in expected}, (
        "a still picture of each, and none of a film that was dropped"
    )
    assert len(list((run.path / "videos").iterdir())) == 2 * len(expected)


def test_films_are_named_by_the_outcome_also_where_a_lost_attempt_ended_otherwise(examine: Examine) -> None:
    """A run that was killed after a film had its name, and before its row was written, runs the trial again."""
    run = film(examine, trials="all")
    names = sorted(path.name for path in (run.path / "videos").iterdir())
    assert {Path(name).stem.rpartition("_")[2] for name in names} == {str(r.outcome) for r in run.results()}
    first = min(run.results(), key=lambda r: r.trial.key)
    stem = Path(str(first.npz)).stem
    for suffix in ("mp4", "jpg"):
        (run.path / "videos" / f"{stem}_timeout.{suffix}").write_bytes(b"of an attempt that was lost")
    with run.ledger() as ledger:
        ledger.reopen([first.trial])
    resume(run.path)
    assert sorted(path.name for path in (run.path / "videos").iterdir()) == names
    assert {f"videos/{name}" for name in names if name.endswith(".mp4")} == {
        r.video for r in Run.open(run.path).results()
    }


def test_fewer_frames_on_request(examine: Examine) -> None:
    run = film(examine, trials="all", every=4)
    for result in run.results():
        assert result.video is not None
        assert frames(run.path / result.video) == result.steps_total // 4 + 1


def test_a_film_changes_no_trial(examine: Examine) -> None:
    assert digests(film(examine, trials="all")) == digests(examine(**CARTPOLE))


def test_an_environment_that_cannot_be_seen_is_named_before_the_first_trial(examine: Examine) -> None:
    pytest.importorskip("av", reason="the extra `video` is not installed")
    with pytest.raises(InputError, match=r'environment of task "walk" cannot be made: .*render'):
        examine(agents=[odd("Steady")], tasks=[odd_task()], record="video")


def test_observations_are_kept_on_request_with_the_first_and_the_last(examine: Examine) -> None:
    run = examine(**CARTPOLE, record={"level": "series", "observations": True})
    for result in run.results():
        observations = run.episode(result).arrays["observations"]
        assert observations.shape == (result.steps_total + 1, 4)
        assert observations.dtype == np.float32
        if result.outcome != "truncated":
            fallen = abs(observations[:, 2]) > 0.2095 - 1e-6
            assert fallen.tolist() == [False] * result.steps_total + [True], "the last is the terminal one"


def test_a_summary_keeps_no_arrays_but_their_digest(examine: Examine) -> None:
    run = examine(**CARTPOLE, record="summary")
    assert list((run.path / "trials").iterdir()) == []
    assert all(r.npz is None and r.digest is not None for r in run.results())
    assert digests(run) == digests(examine(**CARTPOLE))


def test_the_evidence_of_an_extended_run_is_that_of_one_that_was_that_long_from_the_start(examine: Examine) -> None:
    """Films, still pictures, and the sections of the page that show them and the signals."""
    pytest.importorskip("av", reason="the extra `video` is not installed")
    pytest.importorskip("pygame", reason="CartPole draws with pygame")
    record = {"level": "video", "video": {"trials": "all"}}
    short, whole = (examine(**{**CARTPOLE, "n_trials": n}, record=record) for n in (3, 5))
    resume(short.path, ["n_trials=5"])
    for folder in ("videos", "trials"):
        files = [{p.name: p.read_bytes() for p in (run.path / folder).iterdir()} for run in (short, whole)]
        assert files[0] == files[1]
    assert any(name.endswith(".jpg") for name in (p.name for p in (whole.path / "videos").iterdir()))
    for key in ("videos", "signals"):
        pages = [(run.path / "report.html").read_text() for run in (short, whole)]
        shown = [page.partition(f'<section id="{key}"')[2].partition("</section>")[0] for page in pages]
        assert shown[0] == shown[1]
        assert len(shown[0]) > 500
