"""A recorded trial run again gives the same bytes, or it is said that it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from examining import by_key, odd, odd_task, policy

from proctor import InputError, Run
from proctor.foreign import read_npz
from proctor.runs.replay import find_trial, replay
from proctor_host.npz import write_npz

Examine = Callable[..., Run]


@pytest.mark.parametrize("name", ["noisy/toy/0002", "trials/noisy_trial0002_seed125.npz", "noisy_trial0002_seed125"])
def test_a_trial_is_found_by_its_key_and_by_its_file(examine: Examine, name: str) -> None:
    run = examine(agents=[policy("Linear"), policy("Noisy")], n_trials=3)
    assert find_trial(run, name).trial.key == "noisy/toy/0002"


def test_an_unknown_trial_is_met_with_the_nearest(examine: Examine) -> None:
    run = examine(n_trials=2)
    with pytest.raises(InputError) as error:
        replay(run.path, "linaer/toy/0001")
    assert str(error.value) == (
        f'no finished trial "linaer/toy/0001" in {run.path}; did you mean "linear/toy/0001"? '
        "(npz_path in summary.csv names them too)"
    )


@pytest.mark.parametrize("record", ["series", "summary"])
def test_a_trial_run_again_is_equal_to_the_byte(examine: Examine, record: str) -> None:
    run = examine(agents=[policy("Noisy"), policy("TwoStages")], n_trials=3, record=record)
    before = sorted(p.name for p in run.path.rglob("*"))
    done = replay(run.path, "noisy/toy/0001")
    assert done.equal
    assert done.differing == ()
    assert done.video is None
    assert done.again.digest == by_key(run)["noisy/toy/0001"].digest
    assert sorted(p.name for p in run.path.rglob("*")) == before, "the run is left alone"


def test_observations_are_compared_too(examine: Examine) -> None:
    run = examine(n_trials=1, record={"level": "series", "observations": True})
    assert replay(run.path, "linear/toy/0000").equal


def test_an_environment_without_a_seed_is_found_out(examine: Examine) -> None:
    run = examine(agents=[odd("Steady")], tasks=[odd_task("Dice")], n_trials=1)
    done = replay(run.path, "steady/dice/0000")
    assert not done.equal
    assert "rewards" in done.differing
    assert "actions" not in done.differing


def test_the_arrays_that_differ_are_named(examine: Examine) -> None:
    run = examine(agents=[odd("Steady")], tasks=[odd_task("Dice", signals=["info.speed"])], n_trials=1)
    (result,) = run.results()
    assert result.npz is not None
    arrays = read_npz(run.path / result.npz)
    del arrays["speed"]
    size, crc = write_npz(run.path / result.npz, arrays | {"more": np.zeros(3)})
    with run.ledger() as ledger:
        ledger.finish([replace(result, npz_size=size, npz_crc=crc)])
    assert {"more", "speed", "rewards"} <= set(replay(run.path, "steady/dice/0000").differing)


def test_without_a_record_everything_differs(examine: Examine) -> None:
    run = examine(agents=[odd("Steady")], tasks=[odd_task("Dice")], n_trials=1, record="summary")
    done = replay(run.path, "steady/dice/0000")
    assert not done.equal
    assert done.differing == ("everything",)


def test_a_trial_can_be_filmed_afterwards(examine: Examine, tmp_path: Path) -> None:
    av = pytest.importorskip("av", reason="the extra `video` is not installed")
    pytest.importorskip("pygame", reason="CartPole draws with pygame")
    run = examine(agents=[{"name": "zero", "policy": "zero"}], tasks=["CartPole-v1"], n_trials=1)
    (result,) = run.results()
    film = tmp_path / "new" / "film.mp4"
    done = replay(run.path, result.trial.key, film)
    assert done.equal
    assert done.video == film
    with av.open(str(film)) as container:
        assert sum(1 for _ in container.decode(video=0)) == result.steps_total + 1


def test_a_film_of_what_cannot_be_seen_is_not_promised(examine: Examine, tmp_path: Path) -> None:
    pytest.importorskip("av", reason="the extra `video` is not installed")
    run = examine(agents=[odd("Steady")], tasks=[odd_task()], n_trials=1)
    with pytest.raises(InputError, match="render"):
        replay(run.path, "steady/walk/0000", tmp_path / "film.mp4")
    assert not (tmp_path / "film.mp4").exists()


def test_a_trial_that_is_like_no_other_is_met_with_those_there_are(examine: Examine) -> None:
    run = examine(n_trials=5)
    with pytest.raises(InputError, match=r"it has linear/toy/0000, linear/toy/0001, .*, \.\.\. linear/toy/0004"):
        replay(run.path, "77")
