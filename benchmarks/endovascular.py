"""The embedded endovascular simulator: `python -m benchmarks endovascular`.

    python -m benchmarks.endovascular steps STEPS      one process, scripted navigation: control steps per second
    python -m benchmarks.endovascular bare             two bare processes, on and on
    python -m benchmarks.endovascular proctor PLACEMENT   two workers of Proctor, as good as on and on
    python -m benchmarks.endovascular agents TRIALS    the example's agents and tools: steps per CPU second
    python -m benchmarks.endovascular reach TRIALS     how often the navigator gets where, in three arches each
    python -m benchmarks.endovascular jam STEPS        pushed on for so many steps: snaps and forces
    python -m benchmarks.endovascular spacing STEPS    every tool, coarse against fine: tip, forces, speed
    python -m benchmarks.endovascular pairs STEPS      two devices, coarse against fine: tip, speed
    python -m benchmarks.endovascular soak STEPS [PROCESSES]   random commands for so many steps; the worst of them

`python -m benchmarks endovascular` lets `bare` and `proctor` take turns; each of the others prints one JSON line.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.folders import run_folder
from benchmarks.turns import Counter
from proctor.policies.protocol import Actions, Batch, Policy, SpaceInfo

EXAMPLE = Path(__file__).parents[1] / "examples" / "endovascular.yml"
SEEDS = (0, 1, 2)
"""Of the anatomies of `reach`."""
EPISODE_STEPS = 120
SLOTS = {"engine": 32, "worker": 8}
"""Of two workers: others are stepped while the engine is asked; a policy in the worker keeps nobody waiting."""
ENOUGH_TRIALS = 20_000
"""More than are ever run."""
COMMAND = (18.0, 0.4)
OPTIONS: dict[str, Any] = {"anatomy": {"arch_type": "I", "seed": 1, "target_branches": ["lcca"]}}


class WirePolicy(Policy):
    """The command of `play`."""

    def __init__(self) -> None:
        self._counter = Counter()

    def act(self, batch: Batch) -> np.ndarray:
        first = batch.trials[0]
        self._counter.add(len(batch) + 1 - sum([trial is first for trial in batch.trials]))  # without what pads it
        return np.full((len(batch), 2), COMMAND, np.float32)


def make(options: dict[str, Any] = OPTIONS) -> Any:
    from proctor.suites.endovascular.env import EndovascularEnv
    from proctor.suites.endovascular.options import EndovascularOptions

    return EndovascularEnv(EndovascularOptions.model_validate(options))


def play(env: Any, seed: int, counter: Counter | None = None) -> None:
    """One episode of pushing with a slow turn: out of the sheath, up the aorta and into a branch, always
    `EPISODE_STEPS` long."""
    env.reset(seed, 0)
    for _ in range(EPISODE_STEPS):
        env.step(np.array(COMMAND, np.float32))
        if counter is not None:
            counter.add(1)


def steps(count: str) -> dict[str, float]:
    env = make()
    play(env, 0)
    episodes = max(int(count) // EPISODE_STEPS, 1)
    started = time.perf_counter()
    for episode in range(episodes):
        play(env, episode)
    return {"steps": episodes * EPISODE_STEPS / (time.perf_counter() - started)}


def bare() -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=play_on) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


def play_on() -> None:
    env, counter = make(), Counter()
    for seed in itertools.count():
        play(env, seed, counter)


def proctor(placement: str) -> None:
    from proctor import config_from_dict, run_evaluation

    raw = {
        "agents": [
            {"name": "push", "policy": "benchmarks.endovascular:WirePolicy", "options": {"placement": placement}}
        ],
        "tasks": [{"suite": "endovascular", "options": OPTIONS}],
        "n_trials": ENOUGH_TRIALS,
        "max_episode_steps": EPISODE_STEPS,
        "num_parallel": SLOTS[placement],
        "workers": 2,
        "scoring": "success",
    }
    with run_folder() as folder:
        run_evaluation(config_from_dict({**raw, "output_root": folder}))


def played(raw: dict[str, Any]) -> list[Any]:
    """The results of a run in this process."""
    from proctor import config_from_dict, run_evaluation

    with tempfile.TemporaryDirectory() as folder:
        return list(run_evaluation(config_from_dict({**raw, "workers": "inline", "output_root": folder})).results())


def agents(trials: str) -> dict[str, float]:
    play(make(), 0)
    example = yaml.safe_load(EXAMPLE.read_text())
    rates, count, seconds = {}, 0, 0.0
    for raw in example["agents"]:
        env = make({"anatomy": example["anatomy"], "tool": raw["tool"], "privileged": True})
        taken, spent = drive(env, raw, example, int(trials))
        rates[raw["name"]] = round(taken / spent, 1)
        count, seconds = count + taken, seconds + spent
    return {**rates, "mean": round(count / seconds, 1)}


def drive(env: Any, raw: dict[str, Any], example: dict[str, Any], trials: int) -> tuple[int, float]:
    """Steps and CPU seconds of so many trials of an agent of the example, without an engine."""
    from proctor.config.models import AgentCfg
    from proctor.policies import load_policy
    from proctor_host.trials import Trial

    spaces = SpaceInfo({"arch": env.observation_space}, {"arch": env.action_space})
    policy: Any = load_policy(AgentCfg(name=raw["name"], policy=raw["policy"]), spaces)
    count, started = 0, time.process_time()
    for index in range(trials):
        trial = Trial(raw["name"], "arch", index, example["base_seed"] + index)
        observation, state, rng = env.reset(trial.seed, 0), policy.reset([trial]), trial.policy_rng()
        for _ in range(example["max_episode_steps"]):
            row = {key: value[None] if key != "privileged" else rows(value) for key, value in observation.items()}
            answer = policy.act(Batch(row, state, [rng], [trial]))
            actions, state = (answer.actions, answer.state) if isinstance(answer, Actions) else (answer, state)
            step = env.step(actions[0])
            observation, count = step.observation, count + 1
            if step.terminated:
                break
    return count, time.process_time() - started


def rows(group: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {key: value[None] for key, value in group.items()}


def reach(trials: str) -> dict[str, Any]:
    """Successes of the navigator per type and branch, over `SEEDS`, of so many trials each."""
    cells = itertools.product(("I", "II", "III"), ("lsa", "lcca", "rsa", "rcca"), SEEDS)
    anatomies = [{"arch_type": kind, "seed": seed, "target_branches": [branch]} for kind, branch, seed in cells]
    raw = {
        "agents": [{"name": "navigator", "policy": "endovascular/navigator"}],
        "n_trials": int(trials),
        "max_episode_steps": 400,
    }
    table: dict[str, str] = {}
    for (kind, branch), group in itertools.groupby(anatomies, lambda a: (a["arch_type"], *a["target_branches"])):
        results = []
        for anatomy in group:
            options = {"anatomy": anatomy, "privileged": True}
            results += played({**raw, "tasks": [{"suite": "endovascular", "options": options}]})
        table[f"{kind} {branch}"] = f"{sum(bool(r.success) for r in results)}/{len(results)}"
    return table


def jam(count: str) -> dict[str, Any]:
    """Push on for so many steps, with more substeps and with finer spacing: the largest move of the tip in a step and
    the number of that step, forces at the end, and the angle of all bends together."""
    found = {}
    for tool, (substeps, spacing) in itertools.product(("straight", "angled_stiff"), ((6, 2.0), (24, 2.0), (6, 1.0))):
        env = make({"tool": tool, "stop_at_tree_end": False, "substeps": substeps, "spacing_mm": spacing})
        env.reset(0, 0)
        steps = [env.step(np.array([25.0, 0.2], np.float32)).signals for _ in range(int(count))]
        moves = np.linalg.norm(np.diff([signals["tip_pos3d"] for signals in steps], axis=0), axis=1)
        edges = np.diff(env.wire.points, axis=0)
        edges /= np.linalg.norm(edges, axis=1)[:, None]
        found[f"{tool} {substeps} x {spacing} mm"] = {
            "tip_move_max_mm": round(float(moves.max()), 1),
            "in_step": int(moves.argmax()) + 1,
            "wall_n": round(steps[-1]["wall_lcp_sum_abs"], 2),
            "handle_n": round(steps[-1]["handle_force_n"], 2),
            "bends_rad": round(float(np.arccos(np.clip((edges[1:] * edges[:-1]).sum(axis=1), -1, 1)).sum()), 1),
        }
    return found


SPACINGS = {"2 mm": (2.0, 2.0), "default": (2.0, 1.0), "1 mm": (1.0, 1.0), "0.5 mm": (0.5, 0.5)}
"""Of the shaft and of the tip."""


def spacing(count: str) -> dict[str, Any]:
    """Every tool under the same random commands at each spacing, six times: how far the tip is from where it is at
    0.5 mm (median and 90th percentile, mm), by how much the largest force of an episode differs (median and largest
    share), and control steps per CPU second."""
    from proctor.suites.endovascular.tools import TOOLS

    found: dict[str, Any] = {}
    for tool in TOOLS:
        cases = list(itertools.product((0, 1, 2), ("I", "III")))
        runs = {name: [divided(tool, *case, pair, int(count)) for case in cases] for name, pair in SPACINGS.items()}
        for name, group in runs.items():
            away = np.concatenate(
                [np.linalg.norm(a[0] - b[0], axis=1) for a, b in zip(group, runs["0.5 mm"], strict=True)]
            )
            force = [abs(a[1] / max(b[1], 1e-9) - 1) for a, b in zip(group, runs["0.5 mm"], strict=True)]
            found[f"{tool}, {name}"] = {
                "tip_mm": [round(float(np.percentile(away, p)), 3) for p in (50, 90)],
                "force_share": [round(float(np.median(force)), 3), round(float(max(force)), 3)],
                "steps_per_s": round(len(cases) * int(count) / sum(run[2] for run in group)),
            }
    return found


def divided(tool: str, seed: int, kind: str, pair: tuple[float, float], count: int) -> tuple[np.ndarray, float, float]:
    """Tips (count, 3), the largest force and CPU seconds of one episode of random commands."""
    spaced = {"spacing_mm": pair[0], "tip_spacing_mm": pair[1]}
    env = make({"tool": tool, "anatomy": {"arch_type": kind, "seed": 1}, **spaced})
    rng, signals, command = np.random.default_rng(seed), [], np.zeros(2, np.float32)
    env.reset(seed, 0)
    started = time.process_time()
    for step in range(count):
        if step % 8 == 0:
            command = np.array([rng.uniform(5.0, 30.0), rng.uniform(-2.0, 2.0)], np.float32)
        signals.append(env.step(command).signals)
    spent = time.process_time() - started
    return np.array([s["tip_pos3d"] for s in signals]), max(s["wall_wire_force_norm"] for s in signals), spent


CATHETER: dict[str, Any] = {
    "radius_mm": 0.8, "shaft_bending": 400, "shaft_torsion": 300, "tip_bending": 60, "tip_torsion": 50,
    "curve_radius_mm": 12, "curve_length_mm": 13,
}  # fmt: skip
PAIRS = {
    "mic_guide in mic_cath": ("mic_guide", "mic_cath"),
    "angled_standard in a catheter": ("angled_standard", CATHETER),
}


def pairs(count: str) -> dict[str, Any]:
    """Two devices under the same random commands at each spacing, six times: how far the tip is from where it is at
    0.5 mm (median and 90th percentile, mm), and control steps per CPU second."""
    found: dict[str, Any] = {}
    for title, pair in PAIRS.items():
        cases = list(itertools.product((0, 1, 2), ("I", "III")))
        runs = {name: [both(pair, *case, by, int(count)) for case in cases] for name, by in SPACINGS.items()}
        for name, group in runs.items():
            away = [np.linalg.norm(a[0] - b[0], axis=1) for a, b in zip(group, runs["0.5 mm"], strict=True)]
            found[f"{title}, {name}"] = {
                "tip_mm": [round(float(np.percentile(np.concatenate(away), p)), 3) for p in (50, 90)],
                "steps_per_s": round(len(cases) * int(count) / sum(run[1] for run in group)),
            }
    return found


def both(pair: Any, seed: int, kind: str, by: tuple[float, float], count: int) -> tuple[np.ndarray, float]:
    """Tips (count, 3) and CPU seconds of one episode of random commands for wire and catheter."""
    from proctor.suites.endovascular.options import EndovascularOptions
    from proctor.suites.endovascular.two_devices import TwoDeviceEnv

    options = {"tool": pair[0], "catheter": pair[1], "anatomy": {"arch_type": kind, "seed": 1}}
    spaced = {"spacing_mm": by[0], "tip_spacing_mm": by[1]}
    env = TwoDeviceEnv(EndovascularOptions.model_validate({**options, **spaced}))
    rng, tips, command = np.random.default_rng(seed), [], np.zeros(4, np.float32)
    env.reset(seed, 0)
    started = time.process_time()
    for step in range(count):
        if step % 8 == 0:
            command = rng.uniform((5.0, -2.0, 5.0, -2.0), (30.0, 2.0, 30.0, 2.0)).astype(np.float32)
        tips.append(env.step(command).signals["tip_pos3d"])
    return np.array(tips), time.process_time() - started


def soak(count: str, processes: str = "1") -> dict[str, float]:
    """So many steps in all, shared among processes with seeds of their own; the worst of them."""
    share, more = divmod(int(count), int(processes))
    counts = [share + (i < more) for i in range(int(processes))]
    with ProcessPoolExecutor(len(counts), multiprocessing.get_context("spawn")) as pool:
        parts = list(pool.map(driven_at_random, range(len(counts)), counts))
    done = sum(part["steps"] for part in parts)
    unsettled = sum(part["steps"] * part["unsettled_share"] for part in parts) / done
    worst = {name: max(part[name] for part in parts) for name in ("depth_max_mm", "node_force_max_n")}
    return {"steps": done, **worst, "unsettled_share": unsettled}


def driven_at_random(seed: int, count: int) -> dict[str, float]:
    """Every tool in every type of arch in turn, driven at random, a thousand steps each."""
    from proctor.suites.endovascular.rod import UNSETTLED
    from proctor.suites.endovascular.tools import TOOLS

    rng, worst, done, unsettled = np.random.default_rng(seed), {"depth_max_mm": 0.0, "node_force_max_n": 0.0}, 0, 0
    for tool, kind in itertools.cycle(itertools.product(TOOLS, ("I", "II", "III"))):
        env = make({"tool": tool, "stop_at_tree_end": False, "anatomy": {"arch_type": kind}})
        env.reset(int(rng.integers(1000)), 0)
        command = np.zeros(2, np.float32)
        for step in range(min(1000, count - done)):
            if step % 8 == 0:
                command = np.array([rng.uniform(-15.0, 35.0), rng.uniform(-3.0, 3.0)], np.float32)
            signals = env.step(command).signals
            worst["depth_max_mm"] = max(worst["depth_max_mm"], signals["wall_depth_max_mm"])
            worst["node_force_max_n"] = max(worst["node_force_max_n"], signals["wall_lcp_max_abs"])
            done, unsettled = done + 1, unsettled + int(env.wire.status[UNSETTLED])
        if done >= count:
            return {"steps": done, **worst, "unsettled_share": unsettled / (done * env.options.substeps)}
    raise AssertionError("a cycle ends")


PARTS: dict[str, Any] = {
    "steps": steps,
    "bare": bare,
    "proctor": proctor,
    "agents": agents,
    "reach": reach,
    "jam": jam,
    "spacing": spacing,
    "pairs": pairs,
    "soak": soak,
}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](*sys.argv[2:])))
