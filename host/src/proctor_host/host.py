"""A worker's inside: it takes commands, steps whatever can be stepped, and reports through `emit`.

The host is the same in the caller's process and in one of its own. `handle` takes a command and returns at once; `work`
does one thing after another: begin a trial, a round of steps, asking the policies that live here, saying which records
are on disk. Live environments never exceed slots: a slot that goes to another task lets go of its environment first.
"""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import Any, Callable, Sequence

import numpy as np

from proctor_host.batch import BatchWorlds
from proctor_host.beside import Beside
from proctor_host.board import Board
from proctor_host.cfg import TaskCfg, WorkerCfg
from proctor_host.copies import end_if_copied, forks
from proctor_host.device_group import DeviceGroup
from proctor_host.device_worlds import DeviceWorlds
from proctor_host.environments import BatchEnv, Env
from proctor_host.episode import Outcome
from proctor_host.errors import BREAKS, InputError, explain
from proctor_host.extras import Extras
from proctor_host.group import Group
from proctor_host.limits import CLOSING, MAKING, RESETTING, Limits, Watch
from proctor_host.lines import Lines
from proctor_host.messages import (
    FREED,
    Asks,
    Chunk,
    Close,
    Command,
    Consult,
    Done,
    Ended,
    Event,
    Fatal,
    Fault,
    Finish,
    Judged,
    Know,
    Load,
    Probe,
    Probed,
    ProbeFailed,
    Rest,
    Run,
    SeedIgnored,
    Spent,
    Start,
    Unload,
)
from proctor_host.one_by_one import OneByOne, RowByRow
from proctor_host.recording import Recording, Report
from proctor_host.scribes import Scribes
from proctor_host.task import Task, ignores_seed
from proctor_host.trial import EndedTrial, Recorder, RunningTrial
from proctor_host.worlds import Worlds

ROUND_S, ASKED_ROUND_S = 0.02, 0.005
"""How long a round of steps may last, where the policy lives here and where an engine elsewhere is asked: commands are
not looked at meanwhile."""
RECORD_S = 0.002
"""How long is waited for a record where there is nothing else to do."""


class Host:
    """`board` is where observations lie, `watch` what every call into an environment goes through. `apart`: the engine
    answers in another process, while this one steps."""

    def __init__(
        self,
        cfg: WorkerCfg,
        board: Board,
        emit: Callable[[Event], None],
        watch: Watch,
        extras: Extras,
        apart: bool = False,
    ):
        self.cfg, self.board, self.emit, self.watch, self._extras = cfg, board, emit, watch, extras
        self._most_asked, self._asked_s = (max(board.slots // 2, 1), ASKED_ROUND_S) if apart else (board.slots, ROUND_S)
        """A round for which the engine is asked has so many slots at most, and lasts so long: the others are stepped
        while it answers."""
        self.limits = Limits(cfg.limits)
        self._forks = forks()
        self.policies = extras.policies(self)
        self.lines = Lines(self)
        self.ready: deque[tuple[Group, int]] = deque()
        """Slots that can begin or be stepped, in worlds that are stepped one by one; the longest-waiting first."""
        self.freed = False
        """Whether a slot has been freed by `Ended` since `work` began."""
        self.made = 0
        """Steps of environments so far."""
        self._groups: dict[str, Group] = {}
        self._of_slot: dict[int, Group] = {}
        self._batch: Group | None = None
        """The group whose worlds are stepped in one call, if such a task has this worker."""
        self._probes: deque[str] = deque()
        self._untried: deque[tuple[Task, Env, bool]] = deque()
        """Environments of which it is not known whether the seed changes anything, and whether they are kept for a
        trial; tried before any trial begins."""
        self.trying: str | None = None
        """The task whose environment was last made to be tried."""
        self._turns_s = 0.0
        """What slots have waited while others were stepped, since the last trial was done."""
        self._folder = None if cfg.folder is None else Path(cfg.folder)
        self._recorder = Recorder(cfg, extras)
        self.beside: Beside[Event] = Beside()
        """Trials that have ended, while they are measured or written beside the steps of others."""
        self.scribes = Scribes(cfg, extras)
        self.recording = Recording(cfg.record, self.beside, self._recorder, self.scribes)
        """Those of them that have ended on a device."""
        self._apart = apart

    @property
    def busy(self) -> bool:
        """Whether `work` has something to do."""
        if self.ready or self.policies.waiting or self._probes or self._untried or self.beside.landed:
            return True
        if self.recording.outstanding or (self.beside.outstanding and not self._apart):
            return True
        return self._batch is not None and (self._batch.can_begin or self._batch.can_go)

    @property
    def backlog(self) -> int:
        """How many slots can begin or be stepped now, or as soon as a policy in this worker has been asked."""
        return len(self.ready) + len(self.policies.waiting)

    @property
    def tasks(self) -> list[Task]:
        """Those that the engine has told of."""
        return [group.task for group in self._groups.values()]

    def task_in(self, slot: int) -> str | None:
        """The task whose environment has a slot."""
        group = self._of_slot.get(slot)
        return self.trying if group is None else group.task.name

    # Commands ---------------------------------------------------------------------------------------------------------

    def handle(self, command: Command) -> None:
        _HANDLERS[type(command)](self, command)
        end_if_copied(self._forks)

    def _start(self, command: Start) -> None:
        agent = command.trial.agent
        if command.in_worker and not (self.lines.knows(agent) or self.policies.knows(agent)):
            return  # it could not be loaded, which ends the run
        group = self._give(command.slot, self._groups[command.trial.task])
        group.expect(command)
        if not group.worlds.in_one_call:
            self.ready.append((group, command.slot))

    def _know(self, command: Know) -> None:
        for task in command.tasks:
            self._meet(task)

    def run(self, slots: Sequence[int], chunks: Sequence[np.ndarray] | np.ndarray | Chunk) -> None:
        """Execute a chunk of actions in each of these slots; or a single one that is not valid as it is. Trials that
        broke while the engine answered are passed over."""
        group = self._of_slot[slots[0]]
        rows = [row for row, slot in enumerate(slots) if slot in group.running]
        if isinstance(chunks, Chunk):
            if rows:
                group.execute_odd(slots[0], chunks)
        elif len(rows) == len(slots):
            group.execute(slots, chunks)
        else:
            if rows:
                group.execute([slots[row] for row in rows], [chunks[row] for row in rows])
            others = [row for row, slot in enumerate(slots) if self._of_slot.get(slot) not in (group, None)]
            if others:
                self.run([slots[row] for row in others], [chunks[row] for row in others])

    def take(self, group: Group, slots: list[int], chunks: np.ndarray | list[Chunk], rows: list[int]) -> int:
        """Execute the answers of a policy that lives here: these rows of the chunks. How many actions they are."""
        if isinstance(chunks, np.ndarray):
            group.execute(slots, chunks if len(rows) == len(chunks) else chunks[rows])
            return len(rows) * chunks.shape[1]
        for slot, row in zip(slots, rows):
            group.execute_odd(slot, chunks[row])
        return sum(len(chunks[row].actions) for row in rows)

    def end(self, slot: int, outcome: Outcome, error: str) -> None:
        """End a slot's trial because of its policy. An outcome that is not scored is a fault of this attempt."""
        group = self._of_slot.get(slot)
        if group is None or slot not in group.running:
            return
        if outcome.scored:
            group.finish(slot, outcome, error)
        else:
            group.fault(slot, outcome, error)

    def judge(self, slot: int, success: bool | None) -> None:
        """The operator has said whether a slot's trial, which has ended, was a success; None: it is dropped."""
        group = self._of_slot.get(slot)
        if group is not None and slot in group.running:
            group.judge(slot, success)

    # Work -------------------------------------------------------------------------------------------------------------

    def work(self, until: float) -> None:
        """Step what can be stepped, until nothing can, this time (monotonic) has come, or slots have been freed that
        the engine has trials for; at least once."""
        end_if_copied(self._forks)
        self.freed = False
        while self._one_thing() and not self.freed and time.monotonic() < until:
            pass

    def _one_thing(self) -> bool:
        """Do the next thing; False where there is nothing to do."""
        batch = self._batch
        if self.beside.landed:
            self._report()
        elif self._untried:
            self._try_seeds(*self._untried.popleft())
        elif batch is not None and batch.can_begin:
            batch.begin(list(batch.starts))
        elif self.ready:
            self._round()
        elif batch is not None and batch.can_go:
            self.made += batch.round()
        elif self.policies.waiting:
            self.policies.answer()
        elif self._probes:
            self._probe(self._probes.popleft())
        elif self.recording.outstanding or (self.beside.outstanding and not self._apart):
            self._await_records()
        else:
            return False
        return True

    def _round(self) -> None:
        """Begin the trial of the first slot that is ready; or step it, and those behind it that are of its task and ask
        the same way."""
        group, slot = self.ready.popleft()
        if slot in group.starts:
            group.begin([slot])
            return
        if slot not in group.acting:
            return
        asked = group.running[slot].asks_elsewhere
        most = self._most_asked if asked else self.board.slots
        slots, ready, running, acting = [slot], self.ready, group.running, group.acting
        while ready and len(slots) < most:
            other, follower = ready[0]
            if other is not group or follower not in acting or running[follower].asks_elsewhere != asked:
                break
            ready.popleft()
            slots.append(follower)
        until = time.monotonic() + (self._asked_s if asked else ROUND_S)
        self.made += group.go(slots, until)
        if not (asked or self.ready) and self.policies.waiting:
            self.policies.answer()

    def spent(self, seconds: list[float], in_one_call: bool) -> None:
        """A round took so long: whoever was not stepped has waited."""
        if not in_one_call:
            self._turns_s += sum(seconds) * (len(self.ready) + len(seconds) - 1)

    def request(self, trial: RunningTrial) -> Any:
        """What a trial asks whose policy is not asked by the engine."""
        replicated = self.lines.knows(trial.start.trial.agent)
        return self.lines.request(trial) if replicated else self.policies.request(trial)

    def ask(self, group: Group, slots: list[int]) -> None:
        """These slots need an action: from a replica, from the policies here, or from the engine."""
        if self.lines.by_agent:
            slots = self.lines.ask(group, slots)
        if not slots:
            return
        running = group.running
        here = [request for slot in slots if (request := running[slot].request) is not None]
        if here:
            self.policies.ask(here)
            if len(here) == len(slots):
                return
        asking = [slot for slot in slots if running[slot].request is None] if here else slots
        layout, seen = group.task.layout, group.worlds.seen
        shown = None
        if not self.board.reaches(layout):
            shown = [seen[slot] if layout is None else [np.array(column[slot]) for column in seen] for slot in asking]
        self.emit(Asks(asking, shown))

    def film(self, stem: str, fps: float) -> Any:
        """A writer for the frames of a trial."""
        return self._extras.film(self._folder, stem, fps)

    def ended(self, slot: int, ended: EndedTrial, seconds: float, replica: str = "") -> None:
        """Put the record of a finished trial on disk, then say that it is done. What takes long of that is done beside
        the steps of others: measuring, where it says so, and writing, where the engine is elsewhere."""
        began, turns = time.monotonic(), self._turns_s
        self.policies.tell()
        self._turns_s = 0.0
        report = Report(slot, ended, Spent(seconds, 0.0, turns), began, replica)
        if self._recorder.beside(ended.episode):
            self._beside(report, self._recorded, ended.episode.nbytes)
            return
        try:
            recorded = self._recorder.record(ended)
        except Exception as problem:
            self.emit(report.broke(problem))
            return
        if recorded.file is None or not self._apart:
            self.emit(report.written(recorded))
        else:
            self._beside(report, lambda report: report.written(recorded), len(recorded.file.data))
        self._turns_s += (time.monotonic() - began) * len(self.ready)

    def _beside(self, report: Report, work: Callable[[Report], Event], nbytes: int) -> None:
        """Have this done for a trial that has ended. Its slot is free meanwhile, unless as many trials as there are
        slots are being recorded already."""
        if self.beside.outstanding < self.board.slots:
            self.emit(Ended(report.slot))
            self.freed, report = True, report._replace(slot=FREED)
        self.beside.put(lambda: [work(report)], nbytes)

    def _await_records(self) -> None:
        """There is nothing to do but to wait for records, or for the rounds that they lie in."""
        if self.beside.outstanding:
            self.beside.wait(RECORD_S)
        else:
            time.sleep(RECORD_S)

    def _recorded(self, report: Report) -> Done | Fatal:
        """Measure a trial and write its record, on a thread beside that of the steps."""
        try:
            with self.beside.computing:
                recorded = self._recorder.record(report.ended)
        except Exception as problem:
            return report.broke(problem)
        return report.written(recorded)

    def _report(self) -> None:
        """Say what has been recorded beside the steps."""
        events = self.beside.reports()
        self.recording.settle()  # after that, or what is recorded in between would be outstanding for ever
        for event in events:
            self.emit(event)

    def broke(self, slot: int, outcome: Outcome, error: str) -> None:
        """An attempt broke for no fault of the policy."""
        self.emit(Fault(slot, outcome, error))

    # Groups -----------------------------------------------------------------------------------------------------------

    def _meet(self, task: Task) -> None:
        """Be ready for trials of a task."""
        if task.name in self._groups:
            return
        slots, make = self.board.slots, self._make
        seen: list[Any] = [None] * slots if task.layout is None else self.board.columns(task.layout)
        if task.device is not None and task.layout is not None and task.layout.flat:
            device = DeviceWorlds(task, seen, self.watch, make, slots)
            self._groups[task.name] = DeviceGroup(self, task, device, slots)
            return
        if task.worlds is not None:
            worlds: Worlds = BatchWorlds(task, seen, self.watch, make, slots)
        elif task.rows and task.layout is not None:
            worlds = RowByRow(task, seen, self.watch, make)
        else:
            worlds = OneByOne(task, seen, self.watch, make)
        self._groups[task.name] = Group(self, task, worlds, slots)

    def _make(self, task: TaskCfg, renders: bool, worlds: int) -> Any:
        """An environment of a task, which knows what is to be recorded of it."""
        env = self._extras.make(task, renders, worlds)
        if self.cfg.record.states:
            env.records_states = True
        return env

    def _give(self, slot: int, group: Group) -> Group:
        """Let a slot go on with this group; what it had in another is let go of."""
        before = self._of_slot.get(slot)
        if before is not group:
            if before is not None:
                before.worlds.discard(slot)
            if group.worlds.in_one_call or self._batch is not None:
                for other in self._groups.values():
                    if other is not group:
                        other.rest()
                self._batch = group if group.worlds.in_one_call else None
            self._of_slot[slot] = group
        return group

    def _probe(self, name: str) -> None:
        """Make a task's environment once, and say what it is like. The first one that is made is kept for slot 0."""
        cfg, renders = self.cfg.tasks[name], self.cfg.record.films
        self.trying = name
        self.watch.begin(MAKING, 0)
        try:
            env = self._make(cfg, renders, self.board.slots)
            task = Task.of(cfg, env)
            self._extras.check(task)
            self._meet(task)
        except BREAKS as problem:
            self.emit(ProbeFailed(name, str(problem) if isinstance(problem, InputError) else explain(problem)))
            return
        finally:
            self.watch.end()
        self.emit(Probed(task))
        worlds = self._groups[name].worlds
        kept = False
        alone = task.needs_reset  # a robot: another task may have the same one
        if isinstance(env, Env) and isinstance(worlds, OneByOne) and 0 not in self._of_slot and not alone:
            worlds.adopt(0, env, cfg, renders)
            self._of_slot[0], kept = self._groups[name], True
        untold = task.initial_states is None and not (cfg.seeds_matter or task.is_attended)
        if isinstance(env, Env) and untold and cfg.reusable:
            self._untried.append((task, env, kept))
        elif not kept:
            self._let_go(env)

    def _try_seeds(self, task: Task, env: Env, kept: bool) -> None:
        """Say so where the seed changes nothing. An environment that breaks at this is left to its trials."""
        self.trying = task.name
        ignored, problem, _ = self.watch.call(RESETTING, 0, ignores_seed, env, task)
        if ignored and problem is None:
            self.emit(SeedIgnored(task.name))
        if not kept:
            self._let_go(env)

    def _let_go(self, env: Env | BatchEnv) -> None:
        self.watch.call(CLOSING, 0, env.close)

    def close(self) -> None:
        """Let go of every environment and policy."""
        for group in self._groups.values():
            group.close()
        self.recording.close()
        for event in self.beside.close():
            self.emit(event)
        self.scribes.close()
        self._groups, self._of_slot, self._batch = {}, {}, None
        self.ready.clear()
        self._unload()
        end_if_copied(self._forks)

    def _unload(self) -> None:
        self.policies.close()
        self.lines.close()

    def rest(self) -> None:
        """Let go of every environment; policies and what is known of tasks stay."""
        for group in self._groups.values():
            if not group.in_use and not group.starts:
                group.rest()


_HANDLERS: dict[type, Callable[[Host, Any], None]] = {
    Run: lambda host, command: host.run(command.slots, command.chunks),
    Start: Host._start,
    Finish: lambda host, command: host.end(command.slot, command.outcome, command.error),
    Judged: lambda host, command: host.judge(command.slot, command.success),
    Probe: lambda host, command: host._probes.append(command.task),
    Know: Host._know,
    Load: lambda host, command: host.policies.load(command.agent),
    Consult: lambda host, command: host.lines.consult(command),
    Unload: lambda host, command: host._unload(),
    Rest: lambda host, command: host.rest(),
    Close: lambda host, command: host.close(),
}
