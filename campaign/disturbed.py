"""One run under one schedule: sessions that are struck, one in peace, and the comparison with the undisturbed run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from campaign.damage import damage
from campaign.examination import Examination
from campaign.faults import POLICY, Fault, Schedule, Session
from campaign.inside import BEGUN, FIRED
from campaign.judge import differences, finished, lost
from campaign.outside import DEEDS, Striker
from campaign.places import environment
from campaign.processes import MARK, marked, send
from campaign.server import Server
from campaign.smalldisk import SmallDisk
from campaign.subject import TOKENS
from campaign.tally import Tally, Trouble

SESSION_S = 120.0
"""Longer than all limits of an examination and all stalls together."""
LINGER_S = 5.0
"""How long processes may take to end after the command has."""
TRACEBACK = "Traceback (most recent call last)"
PEACE = 3
"""How many sessions without faults there may be: on a loaded machine, trials of the first may run into limits. One in
which an environment still finds a fault to strike with is none."""


@dataclass
class Ending:
    """How a command ended."""

    code: int | None
    """None: it had to be killed."""
    text: str
    struck: list[str]
    left: list[str]


class Disturbed:
    """A run under a schedule, in a folder of its own."""

    def __init__(self, schedule: Schedule, folder: Path, reference: Path, server: Server | None):
        self.schedule, self.folder, self.reference, self.server = schedule, folder, reference, server
        self.tally = Tally()
        self.mark = f"{os.getpid()}-{schedule.seed}"
        self.touched: set[str] = set()
        self.kinds: set[str] = set()
        folder.mkdir(parents=True)
        for name in ("tokens", "fired", "runs"):
            (folder / name).mkdir()
        for _, token in schedule.tokens:
            (folder / "tokens" / token).touch()
        url = server.url if schedule.served and server is not None else None
        self.config = Examination(url).write(schedule.layout, folder)
        self.disk = SmallDisk(folder / "runs")

    def run(self) -> Tally:
        with self.disk:
            for session in self.schedule.sessions[:-1]:
                self._session(session)
            ending, left = None, PEACE
            while left and (ending is None or ending.code != 0):
                before = self._fired_tokens()
                ending = self._session(self.schedule.sessions[-1])
                left -= self._fired_tokens() == before
            self._count_tokens()
            self._judge(ending)
        return self.tally

    # Sessions --------------------------------------------------------------------------------------------------------

    def _session(self, session: Session) -> Ending:
        folder = self._run_folder()
        if folder is not None:
            for fault in session.before:
                if (path := damage(folder, fault)) is not None:
                    self.touched.add(path.name)
                self._tried(fault.kind)
        before = {} if folder is None else finished(folder)
        ending = self._command(self._arguments(folder, session.n_trials), session.faults)
        kinds = tuple(dict.fromkeys([*ending.struck, *self._fired_tokens()]))
        self._look_at(ending, kinds)
        folder = self._run_folder()
        if before and folder is not None:
            for detail in lost(before, folder, self.touched):
                self._trouble("lost", kinds, detail)
        return ending

    def _arguments(self, folder: Path | None, n_trials: int) -> list[str]:
        if folder is None:
            return ["run", str(self.config), "--set", f"n_trials={n_trials}"]
        return ["resume", str(folder), "--retry-unscored", "--set", f"n_trials={n_trials}"]

    def _run_folder(self) -> Path | None:
        """The folder of the run, once there is one that can be resumed."""
        found = [path for path in sorted((self.folder / "runs").iterdir()) if (path / "ledger.sqlite").is_file()]
        return found[-1] if found else None

    def _command(self, arguments: list[str], faults: tuple[Fault, ...]) -> Ending:
        kinds = {fault.kind: fault.at for fault in faults}
        inside = {kind: at for kind, at in kinds.items() if kind not in DEEDS and kind != "small disk"}
        with self.disk.room(kinds.get("small disk")), (self.folder / "output").open("w+b") as output:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "campaign.inside", json.dumps(inside), *arguments],
                stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=self._environment(), cwd=self.folder,
            )  # fmt: skip
            outside = [fault for fault in faults if fault.kind in DEEDS]
            began = self.folder / "fired" / BEGUN
            striker = Striker(outside, process.pid, self.mark, began, self._run_folder, self.server)
            code = _wait(process)
            struck = striker.end() + self._fired()
            output.seek(0)
            text = output.read().decode(errors="replace")
        # A limit or a small disk leaves no other trace than that the command could not go on.
        struck += [kind for kind in ("file size limit", "small disk") if kind in kinds and code]
        for kind in struck:
            self._tried(kind)
        with (self.folder / "log").open("a") as log:
            log.write(f"$ proctor {' '.join(arguments)}\n# {kinds} -> {code}, {struck}\n{text}\n")
        return Ending(code, text, struck, self._left_behind())

    def _environment(self) -> dict[str, str]:
        marks = {MARK: self.mark, TOKENS: str(self.folder / "tokens"), FIRED: str(self.folder / "fired")}
        return {**environment(), **marks}

    def _fired(self) -> list[str]:
        """Faults inside the process that struck since the last look."""
        found = sorted((self.folder / "fired").iterdir())
        for path in found:
            path.unlink()
        return [path.name for path in found if path.name != BEGUN]

    def _left_behind(self) -> list[str]:
        until = time.monotonic() + LINGER_S
        while (found := marked(self.mark)) and time.monotonic() < until:
            time.sleep(0.05)
        for pid in found:
            send(pid, signal.SIGKILL)
        return list(found.values())

    # What is said of it ----------------------------------------------------------------------------------------------

    def _look_at(self, ending: Ending, kinds: tuple[str, ...]) -> None:
        if ending.code is None:
            self._trouble("hung", kinds, f"longer than {SESSION_S:.0f} s: {_tail(ending.text)}")
        if TRACEBACK in ending.text:
            self._trouble("traceback", kinds, _tail(ending.text))
        for command in ending.left:
            self._trouble("left behind", kinds, command)
        if ending.code is not None and ending.code not in self._explained(kinds):
            self._trouble("unexplained", kinds, f"exit code {ending.code}: {_tail(ending.text)}")

    def _explained(self, kinds: tuple[str, ...]) -> set[int]:
        """Exit codes that these faults may lead to. Bad input is nobody's."""
        codes = {0}
        if set(kinds) - {"clock jumps"}:
            codes |= {1}
        if "main interrupted" in kinds or "main terminated" in kinds:
            codes |= {130, 143, -signal.SIGTERM, -signal.SIGINT}
        if "main killed" in kinds or "main killed at a file operation" in kinds:
            codes.add(-signal.SIGKILL)
        if "server killed" in kinds:  # there may be none when the command begins
            codes.add(2)
        if "environment crashes" in kinds and not self.schedule.layout.apart:
            codes.add(-signal.SIGSEGV)
        return codes

    def _judge(self, ending: Ending | None) -> None:
        folder, kinds = self._run_folder(), tuple(self.kinds)
        if folder is None:
            self._trouble("lost", kinds, "there is no run folder")
        elif ending is not None and ending.code != 0:
            self._trouble("changed", kinds, f"in peace, resume ended with {ending.code}: {_tail(ending.text)}")
        else:
            for detail in differences(folder, self.reference)[:5]:
                self._trouble("changed", kinds, detail)

    def _fired_tokens(self) -> list[str]:
        return [kind for kind, token in self.schedule.tokens if not (self.folder / "tokens" / token).exists()]

    def _count_tokens(self) -> None:
        for kind in self._fired_tokens():
            self._tried(kind)
        for kind in POLICY:
            self._tried(kind)

    def _tried(self, kind: str) -> None:
        self.tally.tried[kind] += 1
        self.kinds.add(kind)

    def _trouble(self, what: str, kinds: tuple[str, ...], detail: str) -> None:
        self.tally.troubles.append(
            Trouble(what, kinds, detail, f"python -m campaign --faults 1 --first {self.schedule.seed}")
        )


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    """The exit code; None where it took too long and was killed."""
    try:
        return process.wait(SESSION_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def _tail(text: str, length: int = 600) -> str:
    return text.strip()[-length:]
