"""A submission: its folder, its jobs, waiting for them, and the merge at their end.

NAME-submission/
    submission.json   how it was submitted: the kind, the settings, the ids of the jobs, and where it was merged
    config.json       the config
    queue/            who works on what (`proctor.runs.submit.queue`)
    parcels/00001/     the run folder of a parcel, which is a shard
    logs/             what the jobs print, written by submitit
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from proctor.config import EvalConfig
from proctor.config.code import code_of, module_folders
from proctor.errors import InputError, RunError, optional
from proctor.interpreters import search_last
from proctor.record.files import write_synced
from proctor.record.rundir import RunDir, file_name
from proctor.record.trust import remember, require
from proctor.runs import pinning, places
from proctor.runs.merge import joined
from proctor.runs.start import require_judging
from proctor.runs.submit.queue import Queue
from proctor.runs.submit.worker import Worker

PER_JOB = 8
"""Parcels for each job."""
TIMEOUTS = 20
"""So often a job that runs out of its time is queued again."""
LONG_MIN = 14 * 24 * 60
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Settings:
    """What is asked of the cluster, and how the work is shared out."""

    kind: Literal["slurm", "local"]
    jobs: int = 2
    minutes: int | None = None
    partition: str | None = None
    gpus: int | None = None
    cpus: int | None = None
    mem_gb: float | None = None
    options: dict[str, str] = field(default_factory=dict)
    lease_s: float = 120.0

    def check(self) -> None:
        """Raises InputError where these cannot be submitted here."""
        for option, value in (
            ("--jobs", self.jobs), ("--time", self.minutes), ("--cpus", self.cpus), ("--gpus", self.gpus),
        ):  # fmt: skip
            if value is not None and value < 1:
                raise InputError(f"{option} {value}: expected at least 1")
        for option, number in (("--mem", self.mem_gb), ("--lease", self.lease_s)):
            if number is not None and not number > 0:
                raise InputError(f"{option} {number:g}: expected more than 0")
        _submitit()
        if self.kind == "slurm" and shutil.which("sbatch") is None:
            raise InputError(
                "there is no sbatch on the PATH, so nothing can be submitted to Slurm from here; do it on a login node "
                "of the cluster, or run the jobs on this machine: --local"
            )


def _submitit() -> Any:
    return optional("submitit", "proctor submit", "slurm")


class Submission:
    """A folder with a submission in it."""

    def __init__(self, folder: Path, known: dict[str, Any]):
        self.folder, self.known = folder, known
        self.settings = Settings(**known["settings"])
        self.count: int = known["parcels"]
        self.queue = Queue(folder / "queue", self.count, self.settings.lease_s)
        self.jobs: list[Any] = []

    @classmethod
    def create(cls, cfg: EvalConfig, settings: Settings, config: str | None = None) -> Submission:
        """Raises InputError where the config cannot be run so, or where its folder holds a submission."""
        settings.check()
        if cfg.stop_when is not None:
            raise InputError(
                "a submission cannot follow stop_when: its test reads the trials of all jobs in their order. Leave "
                "stop_when out, or use proctor run"
            )
        search_last(module_folders(cfg))
        require_judging(cfg)
        places.find(cfg, config)
        cfg, asked = pinning.pinned(cfg)  # once for all jobs
        remember(code_of(cfg))
        folder = Path(cfg.output_root).absolute() / f"{file_name(cfg.name)}-submission"
        _make(folder)
        planned = len(cfg.agents) * cfg.trials_per_agent
        known = {
            "settings": asdict(settings), "parcels": max(2, min(PER_JOB * settings.jobs, planned)), "trials": planned,
            "asked": asked, "jobs": [], "merged": None,
        }  # fmt: skip
        write_synced(folder / "config.json", (json.dumps(cfg.model_dump(mode="json"), indent=2) + "\n").encode())
        submission = cls(folder, known)
        submission._write()
        return submission

    @classmethod
    def open(cls, folder: str | Path) -> Submission:
        path = Path(folder).absolute()
        try:
            return cls(path, json.loads((path / "submission.json").read_text()))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{folder} is no folder of a submission ({error}); it is the one that ends in -submission, as "
                "proctor submit said"
            ) from None

    @property
    def finish_command(self) -> str:
        return f"proctor submit --finish {self.folder}"

    def config(self, output_root: Path | None = None) -> EvalConfig:
        cfg = EvalConfig.model_validate_json((self.folder / "config.json").read_text())
        return cfg if output_root is None else cfg.model_copy(update={"output_root": str(output_root)})

    def parcel_folder(self, parcel: int) -> Path:
        return self.folder / "parcels" / f"{parcel:05d}"

    def submit(self) -> None:
        """One array of jobs."""
        asked = self.settings
        executor = _submitit().AutoExecutor(
            folder=self.folder / "logs", cluster=asked.kind, slurm_max_num_timeout=TIMEOUTS
        )
        resources = {
            "timeout_min": asked.minutes or (60 if asked.kind == "slurm" else LONG_MIN),
            "gpus_per_node": asked.gpus, "cpus_per_task": asked.cpus, "mem_gb": asked.mem_gb,
        }  # fmt: skip
        executor.update_parameters(
            name=f"proctor-{file_name(self.config().name)}", **{k: v for k, v in resources.items() if v is not None}
        )
        if asked.kind == "slurm":
            executor.update_parameters(slurm_array_parallelism=asked.jobs)
            if asked.partition is not None:
                executor.update_parameters(slurm_partition=asked.partition)
            if asked.options:
                executor.update_parameters(slurm_additional_parameters=asked.options)
        try:
            self.jobs = list(executor.map_array(Worker(self.folder), range(1, asked.jobs + 1)))
        except _submitit().core.utils.FailedJobError as error:
            raise RunError(f"sbatch refused the jobs: {error}; to try again: {self.finish_command}") from None
        self.known["jobs"] = [job.job_id for job in self.jobs]
        self._write()

    def revive(self, *, trust: bool = False) -> None:
        """Where parcels are left and no job is at work or waiting, submit the jobs again, for failed parcels too."""
        if self.known["merged"] is not None:
            raise InputError(f"{self.folder} is finished: it was merged into {self.known['merged']}")
        require(code_of(self.config()), self.folder, trust=trust)
        if not self.jobs and self.settings.kind == "slurm" and self.known["jobs"]:
            made = _submitit().SlurmJob
            self.jobs = [made(folder=self.folder / "logs", job_id=job) for job in self.known["jobs"]]
        if self.at_work():
            return
        self.queue.reopen_failed()
        if self.queue.open():
            self.settings.check()
            self.submit()

    def at_work(self) -> bool:
        """Whether a job is running or waits for its turn."""
        return any(not job.done() for job in self.jobs) or self.queue.held() > 0

    def wait(self, progress: Progress, every_s: float = 1.0) -> None:
        """Until all parcels are done. Raises RunError where jobs have ended, or parcels have failed, before that."""
        before = None
        while True:
            at_work, state = self.at_work(), self.queue.state()
            now = (len(state.done), len(state.failed), self.queue.held())
            if now != before:
                before = now
                trials = sum(said["trials"] for said in self.queue.said("done").values())
                failed = f", {now[1]} failed" if now[1] else ""
                progress(
                    f"{trials} of {self.known['trials']} trials: {now[0]} of {self.count} parcels done{failed}, "
                    f"{now[2]} being worked on"
                )
            if len(state.done) == self.count:
                self._leave()
                return
            if not at_work or len(state.done | state.failed) == self.count:
                raise RunError(self._why())
            time.sleep(every_s)

    def _leave(self) -> None:
        """Let the jobs of this machine end, which they do by themselves; those of a cluster need no waiting for."""
        end = time.monotonic() + 10
        while self.settings.kind == "local" and time.monotonic() < end and not all(job.done() for job in self.jobs):
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop the jobs if they are processes of this machine."""
        for job in self.jobs if self.settings.kind == "local" else ():
            job.cancel(check=False)

    def merge(self, *, trust: bool = False) -> RunDir:
        """The run of all parcels, without its reports."""
        paths: Sequence[Path] = [self.parcel_folder(c) / said["path"] for c, said in self.queue.said("done").items()]
        merged = joined(paths, {"output_root": self.config().output_root}, trust=trust)
        with merged.ledger() as ledger:
            ledger.set_meta(pinning.KEY, self.known["asked"])
        self.known["merged"] = str(merged.path)
        self._write()
        return merged

    def _why(self) -> str:
        failed = self.queue.said("failed")
        left = self.count - len(self.queue.state().done)
        first = next(iter(failed.items()), None)
        why = "the jobs have ended" if first is None else f"parcel {first[0]} ({first[1]['by']}): {first[1]['error']}"
        return (
            f"{left} of {self.count} parcels are not finished: {why}. What the jobs printed is in "
            f"{self.folder / 'logs'}; to go on: {self.finish_command}"
        )

    def _write(self) -> None:
        write_synced(self.folder / "submission.json", (json.dumps(self.known, indent=2) + "\n").encode())


def _make(folder: Path) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        for name in ("queue", "parcels", "logs"):
            (folder / name).mkdir()
    except FileExistsError:
        raise InputError(
            f"{folder} already holds a submission; finish it (proctor submit --finish {folder}), or name another "
            "place: --name NAME or --out DIR"
        ) from None
    except OSError as error:
        raise InputError(f"cannot make {folder}: {error.strerror or error}; name another place: --out DIR") from None
