"""Policies that live in another interpreter: what stands for one here.

An agent with a `runtime` is loaded by a policy host (`proctor_host.policies`), and asked through a socket: plain data
and arrays, no pickle. Rows, padding, pipeline and generators are the engine's, as for any policy. A host keeps nothing
of a trial, so one that has died is replaced, and asked for the same rows again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from proctor.config.models import AgentCfg, RuntimeCfg
from proctor.errors import InputError
from proctor.policies import load_policy, loader_for
from proctor.policies.options import PolicyOptions
from proctor.policies.padding import LeftPad
from proctor.policies.protocol import (
    Actions,
    AnyPolicy,
    Batch,
    Execute,
    Fail,
    Goto,
    Idle,
    Policy,
    SpaceInfo,
    Stage,
    StagedPolicy,
    StageOutput,
    State,
    Unavailable,
)
from proctor.policies.stages import ACT
from proctor.rollout.ask.lanes import uncounted
from proctor.rollout.policy_host import Died, PolicyHost
from proctor.runtimes import chosen, locate
from proctor_host.policies import plain_tree, state_of
from proctor_host.spaces import described, others
from proctor_host.trials import Trial

MAX_DEATHS = 16
"""After so many deaths in a row, without an answer in between, an agent's host is not started again."""
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (Execute, Goto, Idle, Fail, Unavailable)}


@dataclass(frozen=True)
class Housing:
    """What a policy host is told of a run. `folder`: where its output is kept, None for nowhere. `act_s`: seconds that
    a forward may take."""

    folder: Path | None = None
    act_s: float | None = None


def home_of(agent: AgentCfg) -> RuntimeCfg | None:
    """The runtime that an agent's policy lives in; None: this interpreter."""
    loader = loader_for(agent.policy)
    return chosen(agent.runtime, loader.runtime, loader.needs)


def load_anywhere(agent: AgentCfg, spaces: SpaceInfo, housing: Housing | None = None) -> AnyPolicy:
    """An agent's policy, or what stands for it where it lives in a runtime. Raises InputError for what the user can
    mend."""
    home = home_of(agent)
    if home is None:
        return load_policy(agent, spaces)
    return load_policy(agent, spaces, elsewhere=partial(_hosted, home, housing or Housing()))


def _hosted(
    home: RuntimeCfg, housing: Housing, agent: AgentCfg, options: PolicyOptions, spaces: SpaceInfo
) -> AnyPolicy:
    if options.placement == "worker":
        raise InputError(
            f'agent "{agent.name}": placement: worker is for policies of this interpreter, and this one lives in a '
            "runtime; leave out the option placement"
        )
    start = partial(PolicyHost, locate(home), hello_of(agent, options, spaces), spaces, housing)
    link = Link(agent.name, start)
    return HostedPolicy(link) if link.stages is None else HostedStages(link, link.stages)


def hello_of(agent: AgentCfg, options: PolicyOptions, spaces: SpaceInfo) -> dict[str, Any]:
    """What a host is told of the policy that it makes."""
    loader = loader_for(agent.policy)
    checkpoint = None if agent.checkpoint is None else str(loader.checkpoint(agent, None))
    found = {
        kind: {task: described(space) for task, space in of.items()}
        for kind, of in (("observation", spaces.observation), ("action", spaces.action))
    }
    for task, space in found["observation"].items():
        if unknown := others(space):
            raise InputError(
                f'agent "{agent.name}" lives in a runtime, and the observation space {unknown[0]} of task "{task}" has '
                "no description that another interpreter would understand"
            )
    return {
        "make": loader.hosted,
        "agent": {
            **agent.model_dump(mode="json", exclude={"options", "task_options", "runtime"}),
            "checkpoint": checkpoint,
            "loader": f"{type(loader).__module__}:{type(loader).__qualname__}",
        },
        "options": options.model_dump(mode="json"),
        "briefed": list(spaces.briefing),
        **{kind: {task: space.plain() for task, space in of.items()} for kind, of in found.items()},
    }


class Link:
    """The way to an agent's host, which is started again where it has died. One call at a time: the stages of a policy
    take turns."""

    def __init__(self, agent: str, start: Callable[[], PolicyHost]):
        self._agent, self._start = agent, start
        self._lock = threading.Lock()
        self._deaths = 0
        self._draws = False
        """Whether the policy has lately asked for generators: then they are sent with each call."""
        self._left = False
        self._host = start()
        self.stages, self.row_by_row = self._host.stages, bool(self._host.greeting["row_by_row"])

    def ask(self, call: dict[str, Any], trials: Sequence[Trial], rngs: Sequence[np.random.Generator] = ()) -> Any:
        """The host's answer. Raises what the policy raised, or Died. A host that has died between calls is replaced;
        one that dies in a call for a single trial is asked once more, since somebody else may have ended it."""
        places: dict[Trial, int] = {}
        call["rows"] = [places.setdefault(trial, len(places)) for trial in trials]
        call["trials"] = list(places)
        alone = len(places) == 1
        with self._lock:
            for last in (False, True) if alone else (True,):
                try:
                    return self._asked(call, rngs)
                except Died:
                    self._deaths += 1
                    if last or self._left or self._deaths >= MAX_DEATHS:
                        raise
        raise AssertionError("unreachable")

    def _asked(self, call: dict[str, Any], rngs: Sequence[np.random.Generator]) -> Any:
        if self._left:
            raise Died("the policy was left behind")
        if self._deaths >= MAX_DEATHS:
            raise Died(f"the policy's process died {self._deaths} times in a row; it is not started again")
        if self._host.gone():
            with uncounted():
                self._host.end()
                self._host = self._start()
        drawn = _Drawn(rngs)
        if "rngs" in call:
            call["rngs"] = drawn.shipped() if self._draws else None
        answer = self._host.call(call, drawn.shipped)
        if "rngs" in call:
            self._draws = answer["rngs"] is not None
            drawn.settle(answer["rngs"])
        self._deaths = 0
        return answer

    def close(self) -> None:
        """Let the policy close, and end its host."""
        with self._lock:
            try:
                if not (self._left or self._host.gone()):
                    self._host.call({"call": "close", "trials": [], "rows": []}, dict)
            finally:
                self._host.end()

    def abandon(self) -> None:
        """End the host, also in the middle of a call."""
        self._left = True
        threading.Thread(target=self._host.end, name="proctor-end", daemon=True).start()


class _Drawn:
    """The generators of a call: their states as they are sent, and as they come back. Rows that share one share it
    there, too."""

    def __init__(self, rngs: Sequence[np.random.Generator]):
        self._rngs = rngs
        self._known: list[np.random.Generator] = []

    def shipped(self) -> dict[str, Any]:
        places: dict[int, int] = {}
        rows, self._known = [], []
        for rng in self._rngs:
            if id(rng) not in places:
                places[id(rng)] = len(self._known)
                self._known.append(rng)
            rows.append(places[id(rng)])
        return {"rows": rows, "states": [state_of(rng) for rng in self._known]}

    def settle(self, after: Any) -> None:
        for place, (number, step, held, half) in (after or {}).items():
            self._known[int(place)].bit_generator.state = {
                "bit_generator": "PCG64", "state": {"state": number, "inc": step}, "has_uint32": held, "uinteger": half,
            }  # fmt: skip


def _forward(link: Link, stage: str, batch: Batch) -> Any:
    call = {
        "call": "forward", "stage": stage, "observation": batch.observation, "state": plain_tree(batch.state),
        "tokens": batch.tokens, "mask": batch.token_mask, "rngs": None,
    }  # fmt: skip
    if not isinstance(batch.observation, list):
        call["observation"] = plain_tree(batch.observation)
    return link.ask(call, batch.trials, batch.rngs)


class HostedPolicy(Policy):
    """Stands for a policy of one stage."""

    elsewhere = True

    def __init__(self, link: Link):
        self._link, self.row_by_row = link, link.row_by_row

    def reset(self, trials: Sequence[Trial]) -> State:
        return self._link.ask({"call": "reset"}, trials)["state"]

    def act(self, batch: Batch) -> Actions:
        answer = _forward(self._link, ACT, batch)
        return Actions(answer["actions"], answer["state"])

    def close(self) -> None:
        self._link.close()

    def abandon(self) -> None:
        self._link.abandon()


class HostedStages(StagedPolicy):
    """Stands for a policy of several stages."""

    elsewhere = True

    def __init__(self, link: Link, stages: Sequence[Any]):
        self._link = link
        self.stages = tuple(
            Stage(name, max_batch, wait_s, pad_to, None if pad is None else LeftPad(*pad))
            for name, max_batch, wait_s, pad_to, pad in stages
        )

    def reset(self, trials: Sequence[Trial]) -> State:
        return self._link.ask({"call": "reset"}, trials)["state"]

    def tokens(self, trial: Trial) -> Sequence[int]:
        return self._link.ask({"call": "tokens"}, [trial])["tokens"]

    def forward(self, stage: str, batch: Batch) -> StageOutput:
        answer = _forward(self._link, stage, batch)
        return StageOutput([_decision(*said) for said in answer["decisions"]], answer["state"])

    def close(self) -> None:
        self._link.close()

    def abandon(self) -> None:
        self._link.abandon()


def _decision(kind: str, *fields: Any) -> Any:
    if kind not in _KINDS:
        raise TypeError(f"a stage must answer Execute, Goto, Idle or Fail for each row; found {kind}")
    return _KINDS[kind](*fields)
