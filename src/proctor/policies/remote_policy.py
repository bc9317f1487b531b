"""A policy on a server, as a policy: requests for rows, decisions from answers."""

from __future__ import annotations

import itertools
import logging
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np

from proctor.network import fields
from proctor.network.client import Client, Episode, Reply
from proctor.network.speech import Asked, ServerError, ServerLost
from proctor.network.vla_eval import OBSERVATION, START, message
from proctor.network.wire import WireError, as_array, encode
from proctor.policies.protocol import (
    Batch,
    Decision,
    Execute,
    Fail,
    Goto,
    SpaceInfo,
    Stage,
    StagedPolicy,
    StageOutput,
    State,
    Unavailable,
)
from proctor.policies.remote_wire import Wire, nested
from proctor.policies.stages import ACT
from proctor_host.trials import Trial

Request = tuple[Asked, Episode | None]
log = logging.getLogger("proctor")


class ServerErrorTwice(ServerError):
    """What the server answered when it was asked again."""


def _last_line(error: ServerError) -> str:
    """Of what a server sent: of a traceback what was raised."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else "no text"


class RemotePolicy(StagedPolicy):
    """State of a trial: how often it has asked, its environment steps so far, and how often the server had been lost
    when it began."""

    def __init__(self, client: Client, options: Any, wires: dict[str, Wire], spaces: SpaceInfo):
        self.client, self._options, self._wires = client, options, wires
        self._action_axes = {task: len(space.shape or ()) for task, space in spaces.action.items()}
        self._session = uuid.uuid4().hex
        names = client.metadata.get("stages", [ACT]) if client.is_proctor else [ACT]
        self.stages = tuple(Stage(name) for name in names)

    def reset(self, trials: Sequence[Trial]) -> State:
        blank = np.zeros(len(trials), np.int64)
        return {"asked": blank, "step": blank.copy(), "losses": np.full(len(trials), self.client.losses)}

    def forward(self, stage: str, batch: Batch) -> StageOutput:
        """Rows that repeat a trial (padding) share its answer."""
        first = {trial: row for row, trial in reversed(list(enumerate(batch.trials)))}
        decisions: dict[Trial, Decision] = {}
        requests: dict[Trial, Request] = {}
        for trial, row in first.items():
            try:
                request = self._request(stage, batch, row)
            except WireError as problem:
                request = Fail(f"the observation {problem}")
            if isinstance(request, Fail | Unavailable):
                decisions[trial] = request
            else:
                requests[trial] = request
        for trial, reply in zip(requests, self.client.ask_each(list(requests.values())), strict=True):
            decisions[trial] = self._decision(trial, self._asked_again(requests[trial], reply))
        rows = [decisions[trial] for trial in batch.trials]
        steps = [self._steps(d) for d in rows]
        state = {**batch.state, "asked": batch.state["asked"] + 1, "step": batch.state["step"] + steps}
        return StageOutput(rows, state)

    def close(self) -> None:
        self.client.close()

    def _steps(self, decision: Decision) -> int:
        """How many steps are taken before the trial asks again."""
        if not isinstance(decision, Execute):
            return 0
        return len(decision.actions) if self._options.temporal_ensemble is None else 1

    def _request(self, stage: str, batch: Batch, row: int) -> Request | Fail | Unavailable:
        """What is asked for a row, or why it is not. Raises WireError for what cannot be sent."""
        if self._outlived(batch.state, row):
            return Unavailable(f"{self._options.address} was lost during this trial")
        return Asked((encode(self._message(stage, batch, row)),)), None

    def _outlived(self, state: State, row: int) -> bool:
        """Whether a plain server, which cannot know the trial, was lost since the trial began."""
        return not self.client.is_proctor and state["asked"][row] > 0 and state["losses"][row] != self.client.losses

    def _message(self, stage: str, batch: Batch, row: int) -> dict[str, Any]:
        trial = batch.trials[row]
        message = self._wires[trial.task].row(batch.observation, row)
        if not self.client.is_proctor:
            return message
        told = {"session": self._session, "agent": trial.agent, "task": trial.task, "index": trial.index}
        message[fields.TRIAL] = {**told, "asked": int(batch.state["asked"][row])}
        message[fields.SEED], message[fields.STEP] = trial.seed, int(batch.state["step"][row])
        message[fields.STAGE] = stage
        return message

    def _asked_again(self, request: Request, reply: Reply) -> Reply:
        """A plain server's error may be the machine's: it ran out of memory, or was asked for too much at once. So the
        request is made once more, by itself, on another connection. A second error is the policy's. Our own server has
        asked its policy again itself."""
        if not isinstance(reply, ServerError) or self.client.is_proctor:
            return reply
        log.warning("%s answered with an error, and is asked once more: %s", self._options.address, _last_line(reply))
        again = self.client.ask_each([request])[0]
        if isinstance(again, ServerError):
            return ServerErrorTwice(str(again))
        return again

    def _decision(self, trial: Trial, reply: Reply) -> Decision:
        if isinstance(reply, ServerLost):
            return Unavailable(str(reply))
        if isinstance(reply, ServerError):
            often = "twice " if isinstance(reply, ServerErrorTwice) else ""
            return Fail(f"the policy server answered {often}with an error: {_last_line(reply)}\n{reply}")
        if not self.client.is_proctor:
            return self._execute(trial, reply, ACT)
        if fields.RESTART in reply:
            return Unavailable(str(reply[fields.RESTART]))
        if fields.GOTO in reply:
            return Goto(str(reply[fields.GOTO]))
        if fields.ERROR in reply:
            return Fail(str(reply[fields.ERROR]))
        return self._execute(trial, reply, str(reply.get(fields.THEN, self.stages[0].name)))

    def _execute(self, trial: Trial, reply: dict[Any, Any], then: str) -> Decision:
        key = self._options.action_key
        if key not in reply:
            return Fail(f'the policy server\'s answer has no "{key}"; it has {", ".join(map(str, reply)) or "nothing"}')
        try:
            actions = as_array(reply[key])
        except WireError as problem:
            return Fail(f'the policy server\'s "{key}" is no array: {problem}')
        if actions.ndim == self._action_axes[trial.task]:
            actions = actions[None]
        return Execute(actions[: self._options.replan_steps] if actions.ndim else actions[None], then)


class EpisodePolicy(RemotePolicy):
    """A model server of vla-eval's. A trial's state also has its episode, with the connection that it has to itself."""

    def __init__(self, client: Client, options: Any, wires: dict[str, Wire], spaces: SpaceInfo):
        super().__init__(client, options, wires, spaces)
        self._numbers = itertools.count(1)

    def reset(self, trials: Sequence[Trial]) -> State:
        episodes = np.empty(len(trials), object)
        episodes[:] = [self.client.episode() for _ in trials]
        return {**super().reset(trials), "episode": episodes}

    def _asked_again(self, request: Request, reply: Reply) -> Reply:
        """An episode has gone on, and no observation of it can be sent again; and this protocol's errors say what broke
        in the policy."""
        return reply

    def _request(self, stage: str, batch: Batch, row: int) -> Request | Fail | Unavailable:
        episode, trial, asked = batch.state["episode"][row], batch.trials[row], int(batch.state["asked"][row])
        if episode.client is not self.client or episode.asked != asked:
            return Unavailable(f"a request of this trial was given up, and {self._options.address} has gone on with it")
        frames = (self._start(trial),) if asked == 0 else ()
        number = next(self._numbers)
        observation = nested(self._wires[trial.task].row(batch.observation, row))
        request = Asked((*frames, message(OBSERVATION, observation, number)), number)
        episode.asked += 1
        return request, episode

    def _start(self, trial: Trial) -> bytes:
        """The name of the episode is the same whenever the trial is run: there are servers whose noise comes from
        it."""
        told = {"name": trial.task, "episode_idx": trial.index, "seed": trial.seed}
        task = {**told, **self._options.task_info.get(trial.task, {})}
        named = {"eid": f"{trial.task}/{trial.index}/{trial.seed}"}
        return message(START, {"task": task, "recording": named}, next(self._numbers))
