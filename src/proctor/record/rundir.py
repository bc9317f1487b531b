"""The run folder: everything about one examination.

    config.json       the resolved config
    ledger.sqlite     the state of every trial
    environment.json  versions, host, git state, model hashes; one entry per session that worked on it
    trials/*.npz      per-trial arrays            videos/*.mp4, and the last frame of each as *.jpg
    pictures/         drawings of trials, and moments.json, which says of which
    summary.csv  trials.parquet  report.{json,csv,md,html}  run.log

A folder is worked on by one process at a time; the lock goes with the process, however it ends.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import socket
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from proctor.config.code import Code, scoring_code
from proctor.config.models import EvalConfig
from proctor.errors import InputError, RunError
from proctor.foreign import read_json, read_npz
from proctor.record.disk import DiskError, beginning, trouble
from proctor.record.environment import Noted, noted
from proctor.record.files import refuse_links_in, write_synced
from proctor.record.latest import MADE_AT
from proctor.record.ledger import Ledger
from proctor.record.records import damage
from proctor.record.trust import require
from proctor_host.episode import Episode
from proctor_host.result import TrialResult

WITHOUT_CODE = "score it without: proctor score {} --set scoring.mode=success --set scoring.metrics=[]"


def file_name(name: str) -> str:
    """The name of a run as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "_", name).strip("._")[:80] or "run"


def new_folder(root: Path, name: str, now: datetime, part: str = "") -> Path:
    """A new, empty folder `<timestamp>_<name><part>` under `root`; never one that exists."""
    stem = f"{now:%Y%m%d-%H%M%S}_{file_name(name)}{part}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        for n in range(1, 1000):
            path = root / (stem if n == 1 else f"{stem}-{n}")
            with contextlib.suppress(FileExistsError):
                path.mkdir()
                return path
    except OSError as error:
        said = f"cannot make a run folder under output_root {root}: {error}"
        if trouble(error) is None:
            raise InputError(said) from None
        raise DiskError(f"{said}; mend that, or set another output_root, and run the same command again") from None
    raise RunError(f"no free folder name like {root / stem}")


class RunDir:
    """A run folder on disk. `path` is what to show a user; everything else reads from it. `trust`: the code that the
    run's scoring and metrics are made of may be imported, whoever wrote it."""

    def __init__(self, path: Path, *, trust: bool = False):
        self.path, self.trust = path, trust

    def __repr__(self) -> str:
        return f"RunDir({str(self.path)!r})"

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def real(self) -> Path:
        """Where the folder lies, if `path` leads there by links."""
        return Path(os.path.realpath(self.path))

    @classmethod
    def create(cls, cfg: EvalConfig, now: datetime, part: str = "") -> Self:
        """A new folder `<timestamp>_<name><part>` under the config's output root; never one that exists."""
        path = new_folder(Path(cfg.output_root), cfg.name, now, part)
        run = cls(path, trust=True)
        with beginning(path):
            (path / "trials").mkdir()
            run.write_config(cfg)
            with Ledger.create(path / "ledger.sqlite") as ledger:
                ledger.set_meta(MADE_AT, now.astimezone(UTC).isoformat())
        return run

    @classmethod
    def open(cls, path: str | Path, *, trust: bool = False) -> Self:
        run = cls(Path(path), trust=trust)
        if not os.path.isdir(run.path):
            raise InputError(f'there is no run folder "{path}"')
        if not (run.path / "ledger.sqlite").is_file():
            raise InputError(f"{path} is not a run folder: it has no ledger.sqlite")
        run._check_ledger()
        return run

    def _check_ledger(self) -> None:
        """Raise InputError where a row of the ledger could not have been written by a run of this config."""
        cells, large = None, True
        with contextlib.suppress(InputError):
            cfg = self.plain_config()
            large = any(seed >= 2**63 for own in (cfg, *cfg.tasks) for seed in own.seeds or ())
            cells = {(agent.name, task.name) for agent in cfg.agents for task in cfg.tasks}
        with self.ledger() as ledger:
            problem = ledger.problem(cells, large_seeds=large)
        if problem is not None:
            raise InputError(
                f"{self.path / 'ledger.sqlite'} is damaged: {problem}. Put it back as it was, or start a new run"
            )

    # Config and metadata ---------------------------------------------------------------------------------------------

    def config(self) -> EvalConfig:
        """The config, whose scoring and metrics may be imported. Raises InputError where they are code that the user
        has neither run nor trusted before."""
        cfg = self.plain_config()
        require(scoring_code(cfg), self.path, trust=self.trust, instead=f"; or {WITHOUT_CODE.format(self.path)}")
        return cfg

    def require_trust(self, codes: Sequence[Code]) -> None:
        """Raise InputError where some of this code that the run names is not trusted."""
        require(codes, self.path, trust=self.trust)

    def plain_config(self) -> EvalConfig:
        """The config as data: of what it names, nothing is to be imported."""
        path = self.path / "config.json"
        try:
            return EvalConfig.model_validate_json(path.read_text())
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read as a config of this version: {error}") from None

    def write_config(self, cfg: EvalConfig) -> None:
        self.write_json("config.json", cfg.model_dump(mode="json"))

    def write_json(self, name: str, value: Any) -> None:
        write_synced(self.real / name, (json.dumps(value, indent=2, allow_nan=False) + "\n").encode())

    def environment(self) -> Noted:
        """What is known of the sessions that worked on it."""
        return noted(self.path)

    def ledger(self, copied: bool = False) -> Ledger:
        """`copied`: a copy, so that the folder stays as it is."""
        return Ledger.open(self.path / "ledger.sqlite", copied)

    # What came of it -------------------------------------------------------------------------------------------------

    def results(self) -> Iterator[TrialResult]:
        """Finished trials: by agent, task, index."""
        with self.ledger() as ledger:
            yield from ledger.results()

    def report(self) -> dict[str, Any]:
        """The contents of `report.json`."""
        again = f"`proctor report {self.path}` writes it"
        try:
            return read_json(self.path / "report.json")
        except FileNotFoundError:
            raise InputError(f"{self.path} has no report.json yet; {again}") from None
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path / 'report.json'} cannot be read: {error}; {again}") from None

    def episode(self, result: TrialResult) -> Episode:
        """The recorded arrays of a trial. Raises InputError where it has none, or where they are not what was
        written."""
        if result.npz is None:
            raise InputError(
                f"trial {result.trial.key} has no recorded arrays (`record: summary`, or it was not scored)"
            )
        path = self.path / result.npz
        why = damage(self.path, result.npz, (result.npz_size, result.npz_crc))
        if why is not None:
            raise InputError(
                f"the record of trial {result.trial.key}, {path}, is damaged: {why}. Put the file back as it was, or "
                f"run such trials again: proctor resume {self.path}"
            )
        try:
            arrays = read_npz(path)
        except (OSError, ValueError) as error:
            raise InputError(f"the record of trial {result.trial.key} cannot be read: {path}: {error}") from None
        if result.max_steps is None:
            raise InputError(f"the ledger of {self.path} has no step limit for trial {result.trial.key}, which has one")
        return Episode(arrays, result.outcome, result.max_steps, result.trial.task)

    # One process at a time -------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder, to write to it. Raises RunError if another process does, InputError where it has links in
        it."""
        refuse_links_in(self.path)
        path = self.path / "lock"
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise  # room may be made where it is
            raise InputError(
                f"{self.path} cannot be written to: {error.strerror}; copy the folder to a place where it can be"
            ) from None
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                holder = os.read(fd, 200).decode(errors="replace").strip() or "another process"
                raise RunError(
                    f"{self.path} is in use by {holder}; wait for it to end, or stop it and then: "
                    f"proctor resume {self.path}"
                ) from None
            os.ftruncate(fd, 0)
            os.write(fd, f"process {os.getpid()} on {socket.gethostname()}".encode())
            yield
            os.ftruncate(fd, 0)
        finally:
            os.close(fd)
