"""How often expert, reference policy and random actions succeed on the tasks of `examples/manipulation.yml`.

`python -m benchmarks.manipulation [--trials 25] [--device cpu]` prints a table: success rate, its 95 % interval
and the number of trials. The three meet the same variations of each task. Expert and random actions look at no image,
so theirs are not drawn; the simulation is the same.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from proctor import load_config, run_evaluation
from proctor.stats import wilson

EXAMPLE = Path(__file__).parent.parent / "examples" / "manipulation.yml"
UNSEEN = {"observation": "state", "privileged": False}

Counts = dict[str, dict[str, list[bool]]]
"""Task -> agent -> successes."""


def measure(trials: int, device: str, num_parallel: int) -> Counts:
    """Whether each trial succeeded."""
    counts: Counts = defaultdict(dict)
    for agents, options in ((("reference",), {}), (("expert", "random"), UNSEEN)):
        for task, agent, successes in _run(agents, options, trials, (device, num_parallel)):
            counts[task][agent] = successes
    return counts


def _run(agents: tuple[str, ...], options: dict[str, Any], trials: int, how: tuple[str, int]) -> list[Any]:
    device, num_parallel = how
    with tempfile.TemporaryDirectory() as folder:
        changes = [f"tasks.*.options.{key}={value}" for key, value in options.items()]
        base = [f"n_trials={trials}", f"num_parallel={num_parallel}", "record=summary", f"output_root={folder}"]
        cfg = load_config(EXAMPLE, [*base, *changes, f"agents.reference.device={device}"])
        cfg = cfg.model_copy(update={"agents": tuple(a for a in cfg.agents if a.name in agents)})
        found: dict[tuple[str, str], list[bool]] = defaultdict(list)
        for result in run_evaluation(cfg).results():
            found[result.trial.task, result.trial.agent].append(result.outcome == "success")
    return [(task, agent, successes) for (task, agent), successes in found.items()]


def markdown(counts: Counts) -> str:
    lines = ["| task | expert | reference | random |", "|---|---|---|---|"]
    agents = ("expert", "reference", "random")
    rows = {**counts, "all": {a: [s for task in counts.values() for s in task[a]] for a in agents}}
    for task, by_agent in rows.items():
        lines.append(f"| {task} | " + " | ".join(_cell(by_agent[agent]) for agent in agents) + " |")
    return "\n".join(lines)


def _cell(successes: list[bool]) -> str:
    interval = wilson(sum(successes), len(successes))
    assert interval is not None
    rate = sum(successes) / len(successes)
    return f"{rate:.0%} ({interval.low:.0%} to {interval.high:.0%}, n = {len(successes)})"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.manipulation", description=__doc__)
    parser.add_argument("--trials", type=int, default=25, help="of each agent on each task")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--parallel", type=int, default=8)
    arguments = parser.parse_args()
    print(markdown(measure(arguments.trials, arguments.device, arguments.parallel)))


if __name__ == "__main__":
    main()
