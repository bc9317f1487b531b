"""A job of a submission: takes parcels until none is left. A parcel is a shard, run and resumed as any other run."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proctor.errors import BREAKS, InputError, ProctorError, RunError
from proctor.plan.plan import Shard
from proctor.record.rundir import RunDir
from proctor.rollout.nodes import this_machine
from proctor.rollout.progress import CancelToken
from proctor.runs.report import shard_of
from proctor.runs.resume import resume
from proctor.runs.session import Hooks, RunEnd
from proctor.runs.start import start
from proctor.runs.submit.queue import Heartbeat, Lease

if TYPE_CHECKING:
    from proctor.runs.submit.submission import Submission

POLL_S = 0.5


class Worker:
    """What submitit calls in a job. The work is done in a thread: submitit's handler of the signal that a job gets
    ahead of its end, in the main thread, then waits for it to stop, and puts the job into the queue again."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __call__(self, number: int) -> int:
        from proctor.runs.submit.submission import Submission

        _accept_both_signals()
        owner = f"job {number}, process {os.getpid()} on {socket.gethostname()}"
        self.work = Work(Submission.open(self.folder), owner)
        try:
            self.work.start()
            while self.work.is_alive():
                time.sleep(0.05)
        finally:
            self.work.stop()
        return self.work.parcels

    def checkpoint(self, number: int) -> Any:
        """Called by submitit: stop, and say what is to be called when the job runs again."""
        from submitit.helpers import DelayedSubmission

        self.work.stop()
        return DelayedSubmission(Worker(self.folder), number)


def _accept_both_signals() -> None:
    """Clusters differ in which of the two they send."""
    handlers = [signal.getsignal(s) for s in (signal.SIGUSR1, signal.SIGUSR2)]
    handler = next((h for h in handlers if callable(h)), None)
    if handler is not None:
        signal.signal(signal.SIGUSR1, handler)
        signal.signal(signal.SIGUSR2, handler)


class Work(threading.Thread):
    """Takes parcels until all have come to their end, wherever they were run, or until it is stopped."""

    def __init__(self, submission: Submission, owner: str):
        super().__init__(daemon=True)
        self.submission, self.owner = submission, owner
        self.parcels = 0
        self._node = this_machine()
        self._stopped = threading.Event()
        self._cancel = CancelToken()

    def stop(self) -> None:
        """Stop as by Ctrl-C, and wait for it: finished trials are kept, and the parcel is given back."""
        self._stopped.set()
        self._cancel.cancel()
        if self.ident is not None:
            self.join()

    def run(self) -> None:
        queue = self.submission.queue
        while not self._stopped.is_set() and queue.open():
            lease = queue.claim(self.owner)
            if lease is None:
                self._stopped.wait(POLL_S)  # others work on the rest; should one die, its parcel is taken here
                continue
            try:
                self._do(lease)
            except BREAKS as error:
                said = str(error) if isinstance(error, ProctorError) else traceback.format_exc()
                queue.end(lease.parcel, "failed", {"by": self.owner, "error": said})

    def _do(self, lease: Lease) -> None:
        self._cancel = cancel = CancelToken()
        if self._stopped.is_set():
            cancel.cancel()
        with Heartbeat(lease, cancel.cancel):
            end = None if cancel.cancelled else self._run(lease, Hooks(cancel=cancel, node=self._node))
        if lease.lost:
            return
        if end is None or not end.complete:
            if not cancel.cancelled:
                raise RunError(f"parcel {lease.parcel} ended before all its trials had; its run.log says why")
            lease.give_back()
            return
        said = {"by": self.owner, "path": end.run.path.name, "trials": end.progress.done}
        self.submission.queue.end(lease.parcel, "done", said)
        self.parcels += 1

    def _run(self, lease: Lease, hooks: Hooks) -> RunEnd | None:
        shard = Shard(lease.parcel, self.submission.count)
        folder = self.submission.parcel_folder(lease.parcel)
        until = time.monotonic() + 10 * lease.every_s
        while not (hooks.cancel and hooks.cancel.cancelled):
            try:
                known = _begun(folder, shard)
                if known is not None:
                    return resume(known, (), hooks, trust=True)  # what was submitted is trusted
                return start(self.submission.config(folder), hooks, shard)
            except RunError:
                if lease.first or time.monotonic() > until:
                    raise
                time.sleep(POLL_S)  # its former owner lives, and is about to see that the parcel is no longer its own
        return None


def _begun(folder: Path, shard: Shard) -> Path | None:
    """The run of a parcel, if one has begun. What a job left that died before its plan was written is removed."""
    for path in sorted(folder.glob("*")):
        try:
            with RunDir.open(path).ledger() as ledger:
                if shard_of(ledger) == shard and ledger.counts()[0]:
                    return path
        except InputError:
            pass
        shutil.rmtree(path)
    return None
