"""The engine: an event loop over slots. No tick, no barrier.

One thread at a time owns everything here: it hands trials to slots, observations to lanes, actions to workers and
results to the ledger. Lanes run forwards on their own threads and workers step environments elsewhere (or, inline,
between two turns of this loop); both only ever append to a queue and wake the loop.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from proctor.config.models import EvalConfig
from proctor.errors import RunError
from proctor.plan.plan import Plan
from proctor.policies import loader_for, options_for
from proctor.policies.protocol import SpaceInfo
from proctor.record.errors import decisive_line
from proctor.record.ledger import Ledger
from proctor.rollout.ask.agents import AgentRuntime
from proctor.rollout.ask.decide import decide
from proctor.rollout.ask.lanes import Lane, LaneStats, Moment
from proctor.rollout.ask.requests import Request
from proctor.rollout.ask.runner import Answers
from proctor.rollout.attempts import Attempts
from proctor.rollout.attending import BEGIN, REDO, SKIP, STOP, YES, Attending, Operator
from proctor.rollout.backends.base import Lost, Need
from proctor.rollout.crew import Crew, Member
from proctor.rollout.placing import Placing, choose_workers
from proctor.rollout.progress import AgentProgress, CancelToken, Observer, Progress
from proctor.rollout.replicated import ReplicatedAgent
from proctor.rollout.scheduler import Scheduler
from proctor.rollout.slots import Parted, Slot, SlotState, TimeAccount
from proctor.rollout.startup import WATCH_S, WORK_S, Learning, Loading, compile_kernels, know
from proctor.rollout.stopper import Stopper
from proctor.rollout.tasks import Task, worker_cfg
from proctor.rollout.thread import Supervisor, Waker, prefer_short_slices
from proctor.rollout.whereabouts import Whereabouts
from proctor.threads import pinned, wanted
from proctor_host.collecting import collecting_seldom
from proctor_host.copies import end_if_copied, forks
from proctor_host.episode import Outcome
from proctor_host.limits import ALL_SLOTS
from proctor_host.messages import (
    FREED,
    Adrift,
    Asked,
    Asks,
    Chunk,
    Done,
    Ended,
    Event,
    Fatal,
    Fault,
    Finish,
    Judge,
    Judged,
    Refused,
    Rest,
    Run,
    SeedIgnored,
    Start,
    Unclosed,
    Unload,
    Way,
)
from proctor_host.trials import Trial

OBSERVE_S = 0.2

log = logging.getLogger("proctor")
log.addHandler(logging.NullHandler())


class Engine:
    """Runs what is pending in the ledger. Use `run` once."""

    def __init__(self, cfg: EvalConfig, plan: Plan, folder: Path, ledger: Ledger):
        self.cfg, self.plan, self.folder, self.ledger = cfg, plan, folder, ledger
        self.progress = Progress(agents={name: AgentProgress() for name in plan.agents})
        self.cancel = CancelToken()
        self.observer: Observer | None = None
        self.operator: Operator | None = None
        """Who is asked where trials need a person."""
        self.threads: int | None = None
        """Numeric threads; None: what this process is told (`proctor.threads`)."""
        self.learned: Callable[[], None] | None = None
        """Called once every task is known, before the first trial: `greetings` is complete then."""
        self.here: Mapping[str, Any] = {}
        """What is known of this machine, where a run has several and this is one of them (`rollout.nodes`)."""
        self.fresh = True
        """Whether no session has worked on the run before."""
        self.placed: dict[str, Any] = {}
        """Where the work is done: what was chosen, and by which measurements (`rollout.placing`)."""
        self.batching: dict[str, dict[str, LaneStats]] = {}
        self.pad_to: dict[str, dict[str, int | None]] = {}
        """Rows of a forward by agent and stage, of those agents whose answers may depend on it."""
        self.account = TimeAccount()
        self.unclosed: list[str] = []
        """Who did not return from `close` in time, and was left behind or killed."""
        self._hired: list[Member] = []
        self._waker = Waker()
        self._answers: deque[tuple[Lane, Answers, float]] = deque()
        self._tasks: dict[str, Task] = {}
        self._agents: dict[str, AgentRuntime | ReplicatedAgent] = {}
        self._live: dict[str, dict[Any, int]] = {}
        self._attempts = Attempts(cfg, folder, ledger, self.progress)
        self._where = Whereabouts(ledger.get_meta("nodes", []))
        self.progress.nodes = self._where.progress
        self._watched = self._observed = self._began = 0.0
        self._thread = threading.get_ident()
        self._supervisor = Supervisor(cfg.limits.act_s)

    # The run ------------------------------------------------------------------------------------------------------

    def run(self) -> Progress:
        """Run until nothing is left or the token is cancelled. Raises InputError before the first trial where a
        policy or an environment cannot be had, RunError where the run cannot go on; finished trials are recorded in
        any case."""
        with pinned(self.threads):
            return self._run()

    def _run(self) -> Progress:
        self._began = time.monotonic()
        self._attempts.recall()
        self._stopper = Stopper(self.cfg, self.ledger)
        pending = self._stopper.needed(self.ledger.pending())
        self.progress.spared = self._stopper.spared()
        if not pending:
            return self.progress
        chosen = choose_workers(self.cfg, pending, first=self.fresh and not self.progress.done)
        if chosen.workers != self.cfg.workers:
            log.info("workers: %s, since %s", chosen.workers.kind, chosen.why)
            self.cfg = self.cfg.model_copy(update={"workers": chosen.workers})
        self.progress.phase = "compiling kernels, once on this machine"
        compile_kernels(self.cfg, self._observe)
        self._crew = Crew(self.cfg, worker_cfg(self.cfg, self.folder))
        self._hired = self._crew.members
        self._crew.watch(self._waker.fd)
        self._placing = Placing(self.cfg, self._crew, chosen=chosen.measured)
        self.placed = {"workers": chosen.workers.kind, "why": chosen.why, "moved": self._placing.moved}
        try:
            learning = Learning(self._crew, self.cfg)
            self._tasks = learning.tasks(self.cancel, self._wait_for_environments)
            self._attending = Attending(self.cfg, self._tasks, self.operator)
            self._note_devices()
            self._note_states({t.name: t.initial_states for t in self._tasks.values() if t.initial_states is not None})
            if self.learned is not None:
                self.learned()
            self._loading = Loading(self.cfg, self._tasks, self.folder)
            worlds = {task.name: task.worlds for task in self._tasks.values() if task.worlds is not None}
            self._scheduler = Scheduler(self.plan, pending, worlds, learning.attended)
            self._crew.arrived()
            self.progress.phase = "trying policies"
            self._loading.try_loading(self._later_agents(), partial(self._observe, force=True))
            with collecting_seldom():
                if self._crew.inline:
                    self._examine()
                else:
                    self._supervisor.run(self._examine)
        except BaseException:
            self._stop(clean=False)
            raise
        self._stop(clean=True)
        self.progress.spared = self._stopper.spared()
        return self.progress

    def greetings(self) -> dict[str, Mapping[str, Any]]:
        """What workers have said of their interpreters, by task."""
        heard = [member for member in self._hired if member.worker.greeting]
        return {task: member.worker.greeting for member in heard for task in member.tasks}

    def stuck(self) -> str | None:
        """What the thread of `run` does not come back from, although the time for that is over, where nobody but the
        caller can do something about it: with workers in this process. Asked on another thread."""
        found = next((reason for member in self._hired if (reason := member.worker.stuck()) is not None), None)
        if found is None and self._hired and self._crew.inline and self._supervisor.overdue():
            return f"the policy did not answer within {self.cfg.limits.act_s:g} s"
        return found

    def _stop(self, clean: bool) -> None:
        """Write what has ended, whatever happened."""
        self.progress.phase = "stopping"
        agents = self._agents
        self._unload()
        try:
            for member, event in self._crew.close():
                if isinstance(event, Done):
                    self._place(member, event, agents.get(event.result.trial.agent))
                    self._attempts.ended(event.result)
                elif isinstance(event, Unclosed):
                    log.warning("%s", event.reason)
                    self.unclosed.append(event.reason)
            self._commit()
        except Exception:
            if clean:
                raise
            log.exception("while stopping")
        finally:
            self._waker.close()
            self._observe(force=True)

    def _examine(self) -> None:
        """One group of agents after the other. Goes on in the middle of a group where another thread had to stop."""
        if not self._crew.inline:
            prefer_short_slices()
        while not self.cancel.cancelled:
            if not self._agents:
                group = self._scheduler.next_group()
                if group is None:
                    return
                try:
                    self._load(group)
                except _Cancelled:
                    return
            self._loop()
            self._commit()
            if not self.cancel.cancelled:
                for member in self._crew.members:
                    member.worker.send(Unload())
            self._unload()

    def _loop(self) -> None:
        """Until this group of agents is through."""
        self.progress.phase, self._thread = "running", threading.get_ident()
        crew = self._crew
        self._refill(list(crew.slots()))
        while not (self._scheduler.exhausted or self.cancel.cancelled):
            self._take_answers()
            crew.work(WORK_S)
            now = time.monotonic()
            for member, events in crew.events():
                member.heard(events, now)
                for event in events:
                    if type(event) is Asks:
                        self._asked(member, event, now)
                    else:
                        self._handle(member, event)
            due = self._forward_what_is_due(now)
            crew.flush()
            if now - self._watched > WATCH_S:
                self._watch(now)
            if not (self._answers or crew.busy or self._scheduler.exhausted):
                crew.wait(min(WATCH_S, due - now) if due is not None else WATCH_S)
            elif crew.apart:
                crew.wait(0.0)
            self._waker.clear()

    # Agents ---------------------------------------------------------------------------------------------------------

    def spaces(self) -> SpaceInfo:
        """What loaders are told."""
        return self._loading.spaces()

    def max_steps(self, task: str, cfg: EvalConfig) -> int:
        """The step limit that a task would have under another config, now that its environment is known."""
        return cfg.task(task).max_episode_steps or cfg.max_episode_steps or self._tasks[task].own_max_steps

    def _load(self, group: list[str]) -> None:
        self.progress.phase = "loading policies"
        for name in group:
            self._observe(force=True)
            self._live[name] = {}
            need = Need(self.cfg, self._tasks, self.cfg.num_parallel, wanted())
            if (replicas := self._crew.replicate(self.cfg.agent(name), need)) is not None:
                self._agents[name] = ReplicatedAgent(name, replicas)
                continue
            options, load = options_for(self.cfg.agent(name)), partial(self._loading.load, name)
            tasks = [task.inside for task in self._tasks.values()]
            slots = self.cfg.num_parallel
            agent = self._agents[name] = AgentRuntime(name, load, options, slots, self._deliver, tasks)
            if not loader_for(self.cfg.agent(name).policy).row_by_row:
                agent.runner.examined = True
                self.pad_to[name] = {stage.name: stage.pad_to for stage in agent.runner.stages}
            agent.in_workers |= self._placing.begins_here(name, agent)
        for name, agent in self._agents.items():
            if isinstance(agent, ReplicatedAgent):
                agent.wait(self._wait_for_replicas)
                if not agent.replicas.row_by_row:
                    self.pad_to[name] = dict(agent.replicas.pad_to)
        for member in self._crew.members:
            self._settle(member)

    def _later_agents(self) -> list[str]:
        """The agents whose turn comes later, and whose policies are loaded here."""
        later = self._scheduler.later_agents()
        return [name for name in later if not self._crew.replicates(self.cfg.agent(name))]

    def _settle(self, member: Member) -> None:
        """Give a worker the policies that live in workers."""
        for name, agent in self._agents.items():
            if isinstance(agent, ReplicatedAgent):
                member.worker.send(agent.consult(member.worker))
            elif agent.is_asked_in(member.worker):
                member.worker.adopt(self.cfg.agent(name), agent.runner)

    def _wait_for_environments(self) -> None:
        """Workers make environments, those that have a place to live."""
        placed = any(member.ready for member in self._hired)
        self.progress.phase = "making environments" if placed else "waiting for room on the cluster"
        self._observe()

    def _wait_for_replicas(self) -> None:
        """Replicas start, which may take minutes."""
        self._observe()
        if self.cancel.cancelled:
            raise _Cancelled

    def forwards(self) -> dict[str, dict[str, LaneStats]]:
        """What was asked of policies so far, by agent and stage: of those that are done, and of those in memory."""
        return {**self.batching, **{name: agent.stats for name, agent in self._agents.items()}}

    def workers(self) -> list[dict[str, Any]]:
        """The workers as they are: how many slots each has, how many of them hold a trial, and how often it was lost
        since it last finished one."""
        return [{"slots": len(member.slots), "busy": member.live, "deaths": member.deaths} for member in self._hired]

    def _unload(self) -> None:
        before = forks()
        for name, agent in self._agents.items():
            self.batching[name] = agent.stats
            if late := agent.close(self.cfg.limits):
                self.unclosed.append(f'agent "{name}": {late}')
        end_if_copied(before)
        self._agents = {}

    # Slots ----------------------------------------------------------------------------------------------------------

    def _refill(self, slots: list[Slot]) -> None:
        for slot in slots:
            if not slot.member.ready:
                continue
            if self._crew.places > 1 and not self._has_room(slot.member):
                return
            if slot.state is not SlotState.FREE or (trial := self._scheduler.pick(slot)) is None:
                continue
            agent, task = self._agents[trial.agent], self._tasks[trial.task]
            slot.assign(trial, task, agent)
            live = self._live[trial.agent]
            live[task.key] = live.get(task.key, 0) + 1
            slot.member.rested = False
            self.progress.running += 1
            if not self._attending.must_ask(slot, trial):
                self._begin(slot, trial)

    def _begin(self, slot: Slot, trial: Trial) -> None:
        stem, films, alone = self.plan.stem(trial), self._films(trial), trial.key in self._attempts.suspects
        slot.member.worker.send(Start(slot.number, trial, stem, films, slot.in_worker, alone))

    def _has_room(self, member: Member) -> bool:
        """Where there are workers of several places: whether one more trial may run. A worker for which there is
        nothing left lets go of its environments, so that there are never more than the config says for long."""
        if not (self._scheduler.waits_for(member) or member.rested):
            member.rested = True
            member.worker.send(Rest())
        return self.progress.running < self.cfg.num_parallel

    def _films(self, trial: Trial) -> bool:
        record = self.cfg.record
        return record.level == "video" and (record.video.trials != "first" or trial.index < record.video.first)

    def _free(self, slot: Slot, *, through: bool = True) -> Trial:
        """The slot's trial runs no more; the slot is refilled at once. `through`: nothing of it is still to come."""
        trial, agent = slot.trial, slot.agent
        assert trial is not None
        assert agent is not None
        if slot.state is SlotState.NEED:
            agent.drop(slot)
        self._attending.drop(slot)
        self._live[trial.agent][self._tasks[trial.task].key] -= 1
        if through:
            self._scheduler.ended(trial)
        slot.release()
        self.progress.running -= 1
        return trial

    def _part(self, member: Member, slot: Slot) -> None:
        """A slot's trial has ended and is still being recorded; the slot takes the next one."""
        since, in_worker = slot.since, slot.in_worker
        trial = self._free(slot, through=False)
        member.parted[trial.key] = Parted(trial, since, in_worker)
        self._refill(self._candidates(slot))

    def _heard_of(self, member: Member, event: Done | Fault) -> None:
        """What came of a trial whose slot had been freed when it ended."""
        trial = event.result.trial if isinstance(event, Done) else event.trial
        parted = member.parted.pop(trial.key, None) if trial is not None else None
        if parted is None:
            return
        self._scheduler.ended(parted.trial)
        if isinstance(event, Done):
            self._done(member, parted, event)
        else:
            self._charge(parted.trial, event.outcome, event.error)
        if self._scheduler.waiting and self.progress.running < self.cfg.num_parallel:
            self._refill([slot for slot in self._crew.slots() if slot.state is SlotState.FREE])

    def _done(self, member: Member, ended: Parted, event: Done) -> None:
        """A trial has ended and is on disk."""
        result = event.result
        self._place(member, event, self._agents[ended.trial.agent])
        if ended.in_worker and result.outcome is Outcome.POLICY_ERROR:
            _log_policy(result.trial, result.outcome, result.error or "")
        self.account.add(time.monotonic() - ended.since, event.spent)
        member.fruitful()
        self._attempts.ended(result)

    def _place(self, member: Member, event: Done, agent: AgentRuntime | ReplicatedAgent | None) -> None:
        """Keep where a trial was done, and where its policy was asked."""
        asked = agent.replicas.node_of(event.replica) if isinstance(agent, ReplicatedAgent) else {}
        self._where.done(member.worker.node or self.here, event, asked)

    # Events ---------------------------------------------------------------------------------------------------------

    def _handle(self, member: Member, event: Event) -> None:
        match event:
            case Ended(number):
                self._part(member, member.slots[number])
            case Done(slot=number) | Fault(slot=number) if number == FREED:
                self._heard_of(member, event)
            case Way():
                self._note_way(event)
            case Done(number):
                slot = member.slots[number]
                since, in_worker = slot.since, slot.in_worker
                self._done(member, Parted(self._free(slot), since, in_worker), event)
                self._refill(self._candidates(slot))
            case Asked(name, stage, stats, steps):
                self.progress.forwards += stats.forwards
                self.progress.rows += stats.rows
                self.progress.steps += steps
                if name in self._agents:
                    self._agents[name].stats[stage].add(stats)
            case SeedIgnored(task):
                self._note_states({task: 1})
            case Refused(name, error):
                log.error("agent %s cannot be loaded in a worker: %s", name, error)
                raise RunError(
                    f'agent "{name}" can be loaded by the engine, but not in a worker: {error.splitlines()[0]}\n'
                    "With options: {placement: engine} it is asked by the engine."
                )
            case Fault(number, outcome, error):
                slot = member.slots[number]
                self._charge(self._free(slot), outcome, error)
                self._refill(self._candidates(slot))
            case Adrift(number):
                self._drift(member.slots[number], event)
            case Judge(number):
                self._attending.judge(member.slots[number])
            case Fatal(error):
                raise RunError(
                    f"{error}\nFinished trials are safe. Make room or mend the folder, then: "
                    f"proctor resume {self.folder}"
                )

    def _drift(self, slot: Slot, event: Adrift) -> None:
        """The replica that a trial has asked is gone: it starts again."""
        trial = self._free(slot)
        self._where.lost(slot.member.worker.node, 1)
        self._attempts.drifted(trial, event)
        if event.alone:
            self._charge(trial, Outcome.POLICY_ERROR, f"its policy died, asked for this trial alone: {event.reason}")
        else:
            self._scheduler.retry(trial)
        self._refill(self._candidates(slot))

    def _note_devices(self) -> None:
        """Keep where worlds are that lie on a device, how many there are, and whether they say that they are exact."""
        inside = {name: task.inside for name, task in self._tasks.items() if task.inside.device is not None}
        if inside:
            self.placed["worlds"] = {
                name: {"device": task.device, "worlds": task.worlds, "exact": task.exact}
                for name, task in inside.items()
            }

    def _note_way(self, event: Way) -> None:
        """Keep how the trials of an agent go on the worlds of a device."""
        if event.agent not in self._agents or event.task not in self._tasks:
            return
        how = "in device rounds" if event.why is None else f"by columns, since {event.why}"
        log.info("agent %s on task %s: trials go %s", event.agent, event.task, how)
        ways = self.placed.setdefault("rounds", {}).setdefault(event.agent, {}).setdefault(event.task, [])
        way = "device" if event.why is None else str(event.why)
        ways += [] if way in ways else [way]

    def _note_states(self, known: dict[str, int]) -> None:
        """Keep how many initial states tasks have: whoever reads the run must know which trials repeat others."""
        if known:
            self.ledger.set_meta("initial_states", {**self.ledger.initial_states(), **known})

    def _candidates(self, slot: Slot) -> list[Slot]:
        """Slots that may have something to do now that this one is free."""
        if self._crew.places > 1 or self._scheduler.attended:
            return [slot, *(other for other in self._crew.slots() if other is not slot)]
        return slot.member.slots if slot.member.idle else [slot]

    def _asked(self, member: Member, event: Asks, now: float) -> None:
        """Slots of a worker need an action."""
        for i, number in enumerate(event.slots):
            slot = member.slots[number]
            if slot.request is not None:
                if event.shown is not None:
                    slot.request.show(event.shown[i])
                self._ask(slot, now)

    def _ask(self, slot: Slot, now: float) -> None:
        agent = slot.agent
        assert agent is not None
        if agent.given_up is not None:
            slot.member.worker.send(Finish(slot.number, Outcome.POLICY_ERROR, agent.given_up))
        else:
            request = slot.ask(now)
            agent.lanes[request.stage].put(request)

    def _charge(self, trial: Trial, outcome: Outcome, error: str) -> None:
        """An attempt broke: try again, or record the trial as unscored."""
        if self._attempts.broke(trial, outcome, error, self._tasks[trial.task].max_steps):
            self._attending.broke(trial, f"{outcome.value}: {decisive_line(error)}")
            self._scheduler.retry(trial)

    def _commit(self) -> None:
        """Enter results into the ledger, those of some hundredths of a second at a time: a transaction costs as much
        as many steps of a small environment. Until then a trial does not count as done."""
        if results := self._attempts.take():
            self.ledger.place(self._where.take(), self._where.nodes)
            self.ledger.finish(results)
            if settled := self._stopper.read(results):
                self._scheduler.close(settled)
                self.progress.spared = self._stopper.spared()

    # The operator ---------------------------------------------------------------------------------------------------

    def _attend(self) -> None:
        """Do what the operator has answered."""
        answered = self._attending.answered()
        if answered is None:
            return
        slot, answer = answered
        trial = slot.trial
        assert trial is not None
        log.info("trial %s: the operator says: %s", trial.key, answer)
        if answer == BEGIN:
            self._begin(slot, trial)
        elif answer == STOP:
            self.cancel.cancel()
        elif answer == SKIP:
            self._attempts.give_up(trial, self._tasks[trial.task].max_steps)
            self._free(slot)
            self._refill(self._candidates(slot))
        else:
            slot.member.worker.send(Judged(slot.number, None if answer == REDO else answer == YES))
            if answer == REDO:
                self._attending.broke(trial, "the operator wants it again")
                self._scheduler.retry(self._free(slot))
                self._refill(self._candidates(slot))

    # Forwards -------------------------------------------------------------------------------------------------------

    def _deliver(self, lane: Lane, answers: Answers) -> None:
        """On the thread that ran the forward."""
        self._answers.append((lane, answers, time.monotonic()))
        if threading.get_ident() != self._thread:
            self._waker.wake()

    def _forward_what_is_due(self, now: float) -> float | None:
        """Start forwards, and take the answers of those that were run on this thread, so that they leave at once.
        When to look again."""
        due = self._dispatch(now)
        while self._answers and not self._crew.inline:
            self._take_answers()
            due = self._dispatch(now)
        return due

    def _dispatch(self, now: float) -> float | None:
        asked = [(name, agent) for name, agent in self._agents.items() if agent.asked]
        if not asked:
            return None
        crew = self._crew
        moment = Moment(now, crew.spare_s, not (crew.busy or self._answers))
        soonest = None
        self._supervisor.enter()
        try:
            for name, agent in asked:
                due = agent.dispatch(moment, self._live[name])
                if due is not None and (soonest is None or due < soonest):
                    soonest = due
        finally:
            self._supervisor.leave()
        return soonest

    def _take_answers(self) -> None:
        while self._answers:
            lane, answers, landed_at = self._answers.popleft()
            if lane.retired:
                continue
            seconds = landed_at - (lane.started_at or landed_at)
            self.progress.forwards += lane.forwards(len(answers.requests))
            lane.landed(seconds)
            self.progress.rows += len(answers.requests)
            limit, found = self.cfg.limits.act_s, answers
            if limit is not None and seconds > limit:
                agent = self._agents[answers.requests[0].trial.agent]
                assert isinstance(agent, AgentRuntime)
                found = agent.too_slow(lane, limit, answers)
            if found is not None:
                self._answer(found)

    def _answer(self, answers: Answers) -> None:
        """Carry out what a policy has decided."""
        acting, chunks, asking, ended = decide(answers)
        if acting:
            self._execute(acting, chunks)
        for request in asking:
            if _current(request):
                self._ask(request.owner, time.monotonic())
        for request, outcome, error in ended:
            if _current(request):
                self._fail(request.owner, outcome, error)

    def _execute(self, requests: list[Request], chunks: np.ndarray | list[Chunk]) -> None:
        """Send chunks of actions to the slots that wait for them; all of one worker and task in one message."""
        alike: dict[tuple[Member, Task], list[int]] = {}
        for row, request in enumerate(requests):
            slot: Slot = request.owner
            if slot.ticket == request.ticket:
                slot.execute()
                alike.setdefault((slot.member, request.task), []).append(row)
        for (member, _), rows in alike.items():
            numbers = [requests[row].owner.number for row in rows]
            if isinstance(chunks, np.ndarray):
                member.worker.run(numbers, chunks if len(rows) == len(chunks) else chunks[rows])
                self.progress.steps += len(rows) * chunks.shape[1]
                continue
            for number, row in zip(numbers, rows, strict=True):
                member.worker.send(Run([number], chunks[row]))
                self.progress.steps += len(chunks[row].actions)

    def _fail(self, slot: Slot, outcome: Outcome, error: str) -> None:
        """End a slot's trial for what its policy answered."""
        assert slot.trial is not None
        _log_policy(slot.trial, outcome, error)
        slot.execute()
        slot.member.worker.send(Finish(slot.number, outcome, error))

    # Watching -------------------------------------------------------------------------------------------------------

    def _watch(self, now: float) -> None:
        self._watched = now
        self._attend()
        self.progress.waits_for = self._attending.waits_for
        self._commit()
        for member in self._crew.members:
            if lost := member.worker.lost():
                self._lose(member, lost)
        for member in self._crew.arrived():
            self._settle(member)
            self._refill(member.slots)
        self._look_at_replicas()
        self._where.look(self._crew.members)
        for agent in list(self._agents.values()):
            for answers in agent.overdue(now, self.cfg.limits.act_s):
                self._answer(answers)
        self._move_agents()
        self._observe()

    def _look_at_replicas(self) -> None:
        """Take in what replicas have done, and tell workers where they are where that has changed."""
        for agent in self._agents.values():
            if isinstance(agent, ReplicatedAgent):
                moved = agent.replicas.look()
                for event in agent.news():
                    self._handle(self._crew.members[0], event)
                for member in self._crew.members if moved else ():
                    member.worker.send(agent.consult(member.worker))

    def _move_agents(self) -> None:
        """Have agents asked in the workers where that has turned out to be cheaper."""
        for name, agent in self._agents.items():
            if isinstance(agent, ReplicatedAgent):
                continue
            own = self.progress.agents[name]
            done = own.scored + own.unscored
            if self._placing.too_slow(name, agent):
                agent.in_workers = False
            elif self._placing.due(name, agent, done, self.progress.planned // len(self.progress.agents) - done):
                agent.in_workers = True
                for member in self._crew.members:
                    if member.worker.has_policies:
                        member.worker.adopt(self.cfg.agent(name), agent.runner)

    def _lose(self, member: Member, lost: Lost) -> None:
        """A worker is gone: the trial whose code was running pays, the others start again."""
        log.warning("%s", lost.reason)
        self._where.lost(member.worker.node, member.live)
        for event in member.worker.events():
            if type(event) is not Asks:
                self._handle(member, event)
        for slot in member.slots:
            if slot.state is SlotState.FREE:
                continue
            charged = lost.slot in (slot.number, ALL_SLOTS)
            outcome = Outcome.TIMEOUT if lost.hung else Outcome.WORKER_LOST
            if charged and lost.acting:
                outcome, charged = Outcome.POLICY_ERROR, self._proven(slot, lost)
            trial = self._free(slot)
            if charged:
                self._charge(trial, outcome, lost.reason)
            else:
                self.progress.adrift += lost.excused
                self._attending.broke(trial, lost.reason)
                self._scheduler.retry(trial)
        for parted in member.parted.values():
            self._scheduler.ended(parted.trial)
            self._scheduler.retry(parted.trial)
        member.parted = {}
        self._crew.replace(member, lost)
        member.worker.send(know(self._tasks, member))
        self._settle(member)
        self._refill(member.slots)

    def _proven(self, slot: Slot, lost: Lost) -> bool:
        """Whether a slot's policy is known to have killed its worker for this trial. If not, the trial starts again
        so that it can be told: a policy that did not answer is from now on asked here, where the trial that makes it
        hang is found and its record kept; one that died is asked for this trial alone."""
        assert slot.agent is not None
        assert slot.trial is not None
        if lost.hung and not isinstance(slot.agent, ReplicatedAgent):
            slot.agent.in_workers = False
            return False
        if not slot.in_worker:
            return False
        return self._attempts.suspect(slot.trial) and lost.slot == slot.number

    def _observe(self, force: bool = False) -> None:
        now = time.monotonic()
        self.progress.seconds = now - self._began
        if self.observer is not None and (force or now - self._observed > OBSERVE_S):
            self._observed = now
            self.observer(self.progress)


class _Cancelled(Exception):
    """The run is to stop, while something is waited for."""


def _log_policy(trial: Trial, outcome: Outcome, error: str) -> None:
    log.warning("trial %s (seed %d): %s: %s", trial.key, trial.seed, outcome.value.replace("_", " "), error)


def _current(request: Request) -> bool:
    """Whether the slot still waits for this request, and has not moved on."""
    return request.owner.ticket == request.ticket
