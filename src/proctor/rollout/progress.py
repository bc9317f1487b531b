"""What a run tells while it goes: a snapshot for progress displays, and a token to stop it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal


class CancelToken:
    """`cancel()` from any thread stops the run: trials that have ended are recorded, running ones are dropped."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        self._event.set()

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()


UNSCORED: Literal["unscored"] = "unscored"


@dataclass
class AgentProgress:
    """Finished trials of an agent, those of earlier sessions included. `silent`: by task, how many of the scored ones
    did not say whether they were a success."""

    scored: int = 0
    successes: int = 0
    unscored: int = 0
    silent: dict[str, int] = field(default_factory=dict)


@dataclass
class NodeProgress:
    """What a node of a cluster does: workers that it has now, trials that were done there in this session, attempts
    that were lost there, and seconds that its workers were there and were busy, all of them together."""

    since: float = 0.0
    workers: int = 0
    trials: int = 0
    lost: int = 0
    busy_s: float = 0.0
    worker_s: float = 0.0
    looked: float = 0.0

    @property
    def busy(self) -> float | None:
        """The share of their time that its workers were busy with trials that have ended."""
        return min(self.busy_s / self.worker_s, 1.0) if self.worker_s else None

    def rate(self, now: float) -> float:
        """Trials per second since its first worker was there; 0 where it has none any more."""
        return self.trials / max(now - self.since, 1e-9) if self.workers else 0.0


@dataclass
class Progress:
    """`done` counts finished trials and `unscored` those of them without a score, earlier sessions included; `spared`
    those that a `stop_when` made unnecessary; `retried`, `adrift` (trials that started again since their worker, or a
    replica of their policy, was lost on a cluster), `steps` and `rows` are of this session."""

    planned: int = 0
    done: int = 0
    running: int = 0
    unscored: int = 0
    retried: int = 0
    adrift: int = 0
    steps: int = 0
    forwards: int = 0
    rows: int = 0
    seconds: float = 0.0
    done_before: int = 0
    spared: int = 0
    phase: str = "starting"
    waits_for: str | None = None
    """What the operator is asked, where the run waits for one."""
    agents: dict[str, AgentProgress] = field(default_factory=dict)
    nodes: dict[str, NodeProgress] = field(default_factory=dict)
    """By name; empty where the run has one machine."""
    with_success: set[str] = field(default_factory=set)
    """Tasks of which some trial said whether it was a success: there a trial that does not say it was none."""

    def count(self, agent: str, task: str, success: bool | Literal["unscored"] | None, n: int = 1) -> None:
        """Trials of an agent have ended; `success` is None where they did not say."""
        own = self.agents.setdefault(agent, AgentProgress())
        if success == UNSCORED:
            own.unscored += n
            self.unscored += n
            return
        own.scored += n
        if success is None:
            own.silent[task] = own.silent.get(task, 0) + n
        else:
            own.successes += n * success
            self.with_success.add(task)

    def success_rate(self, agent: str) -> float | None:
        """So far, on tasks that say what success is; None without such."""
        own = self.agents[agent]
        judged = own.scored - sum(n for task, n in own.silent.items() if task not in self.with_success)
        return own.successes / judged if judged else None

    @property
    def rows_per_forward(self) -> float | None:
        return self.rows / self.forwards if self.forwards else None

    @property
    def complete(self) -> bool:
        return self.done + self.spared >= self.planned

    @property
    def seconds_left(self) -> float | None:
        """At the rate of this session; None before anything is known."""
        new = self.done - self.done_before
        return self.seconds * (self.planned - self.spared - self.done) / new if new else None


def node_numbers(progress: Progress) -> dict[str, dict[str, Any]]:
    """What each node of a cluster does, as plain data; those with the most workers first."""
    now = time.monotonic()
    ordered = sorted(progress.nodes.items(), key=lambda pair: -pair[1].workers)
    return {
        name: {
            "workers": node.workers,
            "trials": node.trials,
            "trials_per_s": round(node.rate(now), 4),
            "busy": node.busy,
            "lost": node.lost,
        }
        for name, node in ordered
    }


Observer = Callable[[Progress], None]
