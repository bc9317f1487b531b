"""The laws of a run logger."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from proctor.runs.loggers.base import Logger, LoggerOptions
from proctor.testing.common import check_options_class, without_error

VALUES = {"progress/trials_done": 3.0, "progress/an agent/score": 0.1 + 0.2, "report/an agent/score#std": float("nan")}


class LoggerConformance:
    """Subclass, name it `Test...`, and set `logger` to the class; `options` are those of a config to try."""

    logger: ClassVar[type[Logger]]
    options: ClassVar[dict[str, Any]] = {}

    def test_declares_itself(self) -> None:
        found = self.logger
        assert isinstance(found, type), f"logger is {found!r}; expected the class"
        assert issubclass(found, Logger), f"{found.__name__} is no subclass of proctor.Logger"
        check_options_class(found.Options, LoggerOptions, self.options)

    def test_lives_through_a_run(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self._session(Path(folder), 3)

    def test_a_resumed_run_goes_on(self) -> None:
        """The same folder is logged to again, from the step that was reached."""
        with tempfile.TemporaryDirectory() as folder:
            self._session(Path(folder), 3)
            self._session(Path(folder), 5)

    def test_values_are_not_changed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            logger, values = self._opened(Path(folder)), dict(VALUES)
            logger.log(values, 1)
            logger.close()
            assert repr(values) == repr(VALUES), "log changed the values that it was given"

    def test_takes_what_a_run_may_log(self) -> None:
        """One step again, no values at all, numbers that are not finite, names with blanks, slashes and #."""
        with tempfile.TemporaryDirectory() as folder:
            logger = self._opened(Path(folder))
            for values in (VALUES, VALUES, {}, {"progress/infinite": float("inf")}):
                with without_error(f"log({values}, 2)"):
                    logger.log(values, 2)
            logger.close()

    def test_takes_tables(self) -> None:
        """Rows that lack what others have, texts, numbers that are not finite, one step again."""
        rows = [{"motion": "a walk", "emd": 0.1, "motion_id": 0}, {"motion": "b", "emd": float("nan"), "worlds": "0 1"}]
        with tempfile.TemporaryDirectory() as folder:
            logger = self._opened(Path(folder))
            for _ in range(2):
                with without_error(f"log_rows('eval/motions', {rows}, 2)"):
                    logger.log_rows("eval/motions", rows, 2)
            logger.close()

    def test_can_be_closed_twice(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            logger = self._opened(Path(folder))
            logger.close()
            with without_error("close", " when it was called again"):
                logger.close()

    def _opened(self, folder: Path) -> Logger:
        options = self.logger.Options.model_validate(self.options)
        held = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
        with without_error("for_run", f" in a folder that held {held}"):
            found = self.logger.for_run(options, folder)
        assert isinstance(found, Logger), f"for_run gave a {type(found).__name__}; expected a Logger"
        return found

    def _session(self, folder: Path, step: int) -> None:
        logger = self._opened(folder)
        with closing(logger), without_error(f"a session of a run that reached {step} trials"):
            logger.begin({"name": "examination", "agents": [{"name": "an agent"}], "tasks": [{"name": "task"}]})
            logger.log(VALUES, step)
            logger.end({"name": "examination", "agents": [{"agent": "an agent", "score_mean": None}]})
