"""What an output format is: the report written to files of its own.

A format is registered in the group `proctor.formats`. Those with `always` are written for every run; others where the
config names them (`report: {formats: [...]}`).
"""

from __future__ import annotations

import abc
import logging
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from proctor.errors import BREAKS
from proctor.registry import FORMATS

if TYPE_CHECKING:
    from proctor.config.models import ReportCfg
    from proctor.record.columns import Trials
    from proctor.report.model import Report

log = logging.getLogger(__name__)
NEEDED = "json"
"""The format that other verbs read: it is written whatever the config says."""


class Format(abc.ABC):
    """A way to write a report. It holds no state: equal reports give equal files."""

    name: ClassVar[str]
    """The name that it is registered under."""
    always: ClassVar[bool] = True
    """Whether it is written where the config does not choose formats."""

    @abc.abstractmethod
    def write(self, folder: Path, report: Report, trials: Trials) -> list[str]:
        """Write the files of the report into `folder`, each whole or not at all (`proctor.report.formats.files`), and
        give their names. Older files of these names are replaced; no others are touched. Another thread may be writing
        another format at the same time."""


def formats_of(cfg: ReportCfg) -> list[Format]:
    """The formats that a config asks for. Raises InputError where one of them cannot be loaded; one that nobody asked
    for by name, and that another package brings, is logged and left out."""
    if cfg.formats is not None:
        return [FORMATS.load(name)() for name in dict.fromkeys((NEEDED, *cfg.formats))]
    found = []
    for name in FORMATS.names():
        try:
            found.append(FORMATS.load(name)())
        except BREAKS:
            if name in FORMATS.builtin:
                raise
            log.exception('the report format "%s" cannot be loaded', name)
    return [each for each in found if each.always]


def write_formats(folder: Path, report: Report, trials: Trials, formats: Iterable[Format]) -> list[str]:
    """Write every format, two at a time, and give the names of all files. One that raises is logged and keeps no other
    from being written; the first error is raised when all are done."""

    def write(each: Format) -> list[str] | BaseException:
        try:
            return each.write(folder, report, trials)
        except BREAKS as error:
            log.exception('the report format "%s" failed', each.name)
            return error

    with ThreadPoolExecutor(2) as threads:
        written = list(threads.map(write, formats))
    for found in written:
        if isinstance(found, BaseException):
            raise found
    return sorted(name for names in written if isinstance(names, list) for name in names)
