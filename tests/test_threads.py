"""Numeric libraries compute with one number of threads while a run goes on, and with theirs before and after."""

from __future__ import annotations

import os
import re
import threading

import pytest

from proctor import InputError, threads
from proctor.errors import RunError

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in threads.VARIABLES:
        monkeypatch.delenv(name, raising=False)


def of_this_thread() -> int:
    """What a parallel region of torch that begins on this thread would use."""
    found = re.search(r"omp_get_max_threads\(\) : (\d+)", torch.__config__.parallel_info())
    assert found is not None
    return int(found[1])


def of_blas() -> set[int]:
    from threadpoolctl import threadpool_info

    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, 1),
        ({"OMP_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "4,2"}, 4),
        ({"OMP_NUM_THREADS": " "}, 1),
        ({"MKL_NUM_THREADS": "2"}, 2),
        ({"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "5"}, 2),
    ],
)
def test_the_first_variable_that_is_set_says_how_many(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: int
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert threads.wanted() == expected


@pytest.mark.parametrize("value", ["0", "-1", "all", "1.5"])
def test_what_is_no_number_of_threads_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    with pytest.raises(InputError) as refused:
        threads.wanted()
    assert str(refused.value) == f'found OMP_NUM_THREADS="{value}"; expected a number of threads, 1 or more'


@pytest.mark.parametrize("breaks", [False, True])
def test_everything_is_pinned_within_and_as_before_afterwards(monkeypatch: pytest.MonkeyPatch, breaks: bool) -> None:
    monkeypatch.setenv("MKL_NUM_THREADS", "2")
    torch.set_num_threads(2)
    before = of_blas()
    try:
        with threads.pinned(3) as number:
            assert number == of_this_thread() == torch.get_num_threads() == 3
            assert of_blas() == {3}
            assert {os.environ[name] for name in threads.VARIABLES} == {"3"}
            if breaks:
                raise KeyError
    except KeyError:
        assert breaks
    assert torch.get_num_threads() == of_this_thread() == 2
    assert of_blas() == before
    assert {name: os.environ[name] for name in threads.VARIABLES if name in os.environ} == {"MKL_NUM_THREADS": "2"}


def test_a_new_thread_has_the_number_once_it_holds_it() -> None:
    seen = []

    def work() -> None:
        threads.hold()
        seen.append(of_this_thread())

    for number in (1, 3):
        with threads.pinned(number):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
    assert seen == [1, 3]


def test_outside_nothing_is_held() -> None:
    torch.set_num_threads(2)
    threads.hold()
    assert of_this_thread() == 2


def test_blocks_may_overlap_where_they_agree() -> None:
    with threads.pinned(2), threads.pinned():
        assert of_this_thread() == 2
    with threads.pinned(2):
        with threads.pinned(2):
            pass
        assert of_this_thread() == 2, "the inner block's end is not the outer's"


def test_two_numbers_at_once_are_refused() -> None:
    with threads.pinned(2):
        with (
            pytest.raises(RunError, match="computes with 2 numeric threads at the moment, for another run; 3 are"),
            threads.pinned(3),
        ):
            pass
        assert of_this_thread() == 2


def test_what_hangs_binds_nobody() -> None:
    torch.set_num_threads(2)
    inside, goes_on = threading.Event(), threading.Event()

    def hang() -> None:
        with threads.pinned(3):
            inside.set()
            goes_on.wait()

    thread = threading.Thread(target=hang)
    thread.start()
    inside.wait()
    threads.abandon(thread)
    assert torch.get_num_threads() == 2
    with threads.pinned(1):
        goes_on.set()
        thread.join()
        assert threads.pinned_number() == 1, "what comes back late leaves a block that is not its own"
    assert threads.pinned_number() is None
