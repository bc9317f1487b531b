"""A planner and an expert of known cost, and many slots: the comparisons `staged` and `parallel`.

    python -m benchmarks.staged plans equal|random SLOTS   the engine
    python -m benchmarks.staged loop equal|random          the same policy and environment in a plain loop, one episode

Each prints one JSON line: plans per second, the `share` of what the policy's sleep allows with so many slots, and the
mean rows of a forward. The planner takes 60 ms and the expert 20 ms whatever the batch, asleep; a plan has seven
waypoints of four steps, so 16 slots make at most 16 / (60 ms + 7 x 20 ms) = 80 plans a second. Episodes have twelve
plans, or 28 to 112 waypoints at random, so that slots fall out of step. Rates are from the first forward until the
first slot has nothing left to start.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

from benchmarks.envs import Trivial
from proctor.policies.protocol import Batch, Execute
from proctor.policies.waypoints import Leg, WaypointCfg, WaypointPlan, WaypointPolicy
from proctor_host.trials import Trial

PLAN_S, ACT_S, WAYPOINTS, STEPS = 0.060, 0.020, 7, 4
PLANS = 12
LEGS = (28, 113)
EPISODES = {"equal": 3, "random": 6}
"""Per slot."""
SEED = 123


@dataclass
class Forwards:
    """When the first forward began, and (stage, when it ended, rows that are trials) of each."""

    began: float = 0.0
    ended: list[tuple[str, float, int]] = field(default_factory=list)

    def note(self, stage: str, batch: Batch) -> None:
        self.ended.append((stage, time.perf_counter(), len({trial.index for trial in batch.trials})))

    def rows(self, stage: str, until: float) -> int:
        return sum(rows for name, when, rows in self.ended if name == stage and when <= until)

    def rates(self, until: float, slots: int) -> dict[str, float]:
        plans, acts, seconds = self.rows("plan", until), self.rows("act", until), until - self.began
        return {"steady": plans / seconds, "share": (plans * PLAN_S + acts * ACT_S) / (slots * seconds)}


FORWARDS = Forwards()
"""Of the one policy of this process."""


class Asleep(WaypointPolicy):
    """Plans and acts with zeros, at a price."""

    def __init__(self) -> None:
        super().__init__(WaypointCfg(WAYPOINTS, 4))

    def plan(self, batch: Batch) -> WaypointPlan:
        FORWARDS.began = FORWARDS.began or time.perf_counter()
        time.sleep(PLAN_S)
        FORWARDS.note("plan", batch)
        n = len(batch)
        return WaypointPlan(np.zeros((n, WAYPOINTS, 4)), np.full((n, WAYPOINTS), STEPS), np.zeros((n, 4)))

    def act(self, batch: Leg) -> np.ndarray:
        time.sleep(ACT_S)
        FORWARDS.note("act", batch)
        return np.zeros((len(batch), STEPS, 4), np.float32)


class Legs(Trivial):
    """Trivial, with episodes of so many waypoints as `episode_legs` says."""

    def __init__(self, lengths: str = "equal"):
        super().__init__()
        self.lengths = lengths

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.episode_steps = STEPS * episode_legs(self.lengths, seed or 0)
        return super().reset(seed=seed, options=options)


def episode_legs(lengths: str, seed: int) -> int:
    return PLANS * WAYPOINTS if lengths == "equal" else int(np.random.default_rng(seed).integers(*LEGS))


if "Legs-v0" not in gymnasium.registry:
    maker: Any = Legs
    gymnasium.register("Legs-v0", maker, order_enforce=False, disable_env_checker=True)


def plans(lengths: str, slots: str) -> dict[str, float]:
    """Of the engine, inline."""
    from proctor import config_from_dict, run_evaluation

    options = {"id": "benchmarks.staged:Legs-v0", "kwargs": {"lengths": lengths}}
    trials = EPISODES[lengths] * int(slots)
    raw = {
        "agents": [{"name": "asleep", "policy": "benchmarks.staged:Asleep"}],
        "tasks": [{"suite": "gymnasium", "options": options}],
        "n_trials": trials,
        "base_seed": SEED,
        "num_parallel": int(slots),
        "workers": "inline",
        "scoring": "success",
    }
    with tempfile.TemporaryDirectory() as folder:
        run = run_evaluation(config_from_dict({**raw, "output_root": folder}))
        steps = sum(result.steps_total or 0 for result in run.results())
        batch = run.report()["batch"]["asleep"]
    expected = STEPS * sum(episode_legs(lengths, SEED + i) for i in range(trials))
    if steps != expected:
        raise RuntimeError(f"the run made {steps} steps; expected {expected}")
    rows = {f"{stage} rows": stats["rows_per_forward"] for stage, stats in batch.items()}
    return {**FORWARDS.rates(_until(lengths, trials - int(slots)), int(slots)), **rows}


def _until(lengths: str, full: int) -> float:
    """When the first slot had nothing left to start: the end for equal episodes, else (slots being refilled in order)
    when as many waypoints had been reached as the first `full` episodes have."""
    wanted = sum(episode_legs(lengths, SEED + i) for i in range(full)) if lengths == "random" else np.inf
    reached = 0
    for stage, when, rows in FORWARDS.ended:
        reached += rows if stage == "act" else 0
        if reached >= wanted:
            return when
    return FORWARDS.ended[-1][1]


def loop(lengths: str) -> dict[str, float]:
    """One episode without an engine."""
    policy, env, trial = Asleep(), Legs(lengths), Trial("asleep", "legs", 0, SEED)
    observation, _ = env.reset(seed=SEED)
    state, stage, over, rngs = policy.reset([trial]), "plan", False, [trial.policy_rng()]
    while not over:
        output = policy.forward(stage, Batch(observation[None], state, rngs, [trial]))
        decision, state, stage = output.decisions[0], output.state, "act"
        if isinstance(decision, Execute):
            stage = decision.then
            for action in decision.actions:
                observation, _, _, over, _ = env.step(action)
    return FORWARDS.rates(FORWARDS.ended[-1][1], slots=1)


PARTS = {"plans": plans, "loop": loop}

if __name__ == "__main__":
    from benchmarks import staged

    print(json.dumps(staged.PARTS[sys.argv[1]](*sys.argv[2:])))
