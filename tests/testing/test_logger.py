"""Each law of LoggerConformance finds what breaks it."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pytest

from proctor import CsvLogger, Logger, LoggerOptions
from proctor.registry import LOGGERS
from proctor.testing import LoggerConformance


class TestCsv(LoggerConformance):
    logger = CsvLogger
    options: ClassVar[dict[str, Any]] = {"path": "there/numbers.csv"}


class TestTensorboard(LoggerConformance):
    logger = LOGGERS.load("tensorboard")

    @pytest.fixture(autouse=True)
    def _needs(self):
        pytest.importorskip("tensorboard")


class Quiet(Logger):
    def log(self, values, step):
        pass


class Loose(Quiet):
    class Options(LoggerOptions):
        model_config = {"extra": "ignore"}  # noqa: RUF012


class Thin(Quiet):
    @classmethod
    def for_run(cls, options, folder):
        return len


class Exclusive(Quiet):
    @classmethod
    def for_run(cls, options, folder):
        (folder / "mine.txt").touch(exist_ok=False)
        return cls()


class Picky(Quiet):
    def end(self, report):
        report["agents"][0]["score_mean"] + 1


class Pops(Quiet):
    def log(self, values, step):
        values.pop("progress/trials_done", None)


class Finite(Quiet):
    def log(self, values, step):
        assert not any(map(math.isinf, values.values()))


class Once(Quiet):
    closed = False

    def close(self):
        assert not self.closed
        self.closed = True


@pytest.mark.parametrize(
    ("broken", "law", "message"),
    [
        (dict, "test_declares_itself", "dict is no subclass of proctor.Logger"),
        (Quiet(), "test_declares_itself", "expected the class"),
        (Loose, "test_declares_itself", "takes unknown keys"),
        (Thin, "test_lives_through_a_run", "for_run gave a builtin_function_or_method; expected a Logger"),
        (Picky, "test_lives_through_a_run", "reached 3 trials raised TypeError"),
        (Exclusive, "test_a_resumed_run_goes_on", "for_run raised FileExistsError.* in a folder that held mine.txt"),
        (Pops, "test_values_are_not_changed", "log changed the values"),
        (Finite, "test_takes_what_a_run_may_log", "inf}, 2.* raised AssertionError"),
        (Once, "test_can_be_closed_twice", "close raised AssertionError"),
    ],
)
def test_a_broken_logger_is_found(broken, law, message):
    class Laws(LoggerConformance):
        logger = broken

    with pytest.raises(AssertionError, match=message):
        getattr(Laws(), law)()
