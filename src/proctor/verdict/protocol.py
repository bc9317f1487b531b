"""Several runs at once: whether they examined their agents in the same way, and what runs and agents are called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.config.models import EvalConfig, ScoringCfg
from proctor.errors import InputError
from proctor.plan.plan import seeds_of_run
from proctor.plan.resume import differences
from proctor.record.environment import DECISIVE
from proctor.record.rundir import RunDir
from proctor.record.runtimes import Runtime, by_agent, by_task, called, few, same, versions_apart, worked
from proctor.registry import SCORINGS
from proctor.scoring import make_scoring
from proctor.texts import count

FREE_OF_TASK = frozenset({"n_trials", "runtime", "seeds"})
"""How many trials there are, and with which seeds, changes none of them; a runtime is compared by what is in it."""
LONGEST = 60
"""Letters of a setting that are shown."""


@dataclass(frozen=True, slots=True)
class Examined:
    """A run, as far as comparing it goes. `versions` of what a trial may depend on."""

    label: str
    run: RunDir
    cfg: EvalConfig
    versions: Mapping[str, str]
    runtimes: Mapping[str, Runtime] | None = None
    """The runtimes of tasks that had one, when trials last ran; None where that is not known."""
    homes: Mapping[str, Runtime] = field(default_factory=dict)
    """And those of agents."""
    looks: tuple[int, ...] = ()
    """Numbers of trials at which results were seen before more were run."""
    by_seed: frozenset[str] = frozenset()
    """Tasks whose trials begin by their seed alone."""

    def described(self) -> str:
        """What was run, in a line."""
        cfg = self.cfg
        trials = ", ".join(dict.fromkeys(str(cfg.trials_of(task)) for task in cfg.tasks))
        agents, tasks = count(len(cfg.agents), "agent"), count(len(cfg.tasks), "task")
        return (
            f"{cfg.name}: {agents}, {tasks}, trials of each: {trials}, scoring {cfg.scoring.mode}, "
            f"{seeds_of_run(cfg)}; {self.run.path}"
        )


Paths = Sequence[str | Path] | Mapping[str, str | Path]
"""Run folders, or run folders by the names that they are to have."""


def examine(paths: Paths, level: float, *, trust: bool = False) -> list[Examined]:
    """The runs as far as comparing them goes, each under a short name: the one that it is given, or its folder's, or
    the path where folders are named alike. Raises InputError for a run that is named twice, for a `level` of intervals
    that is none, and for a run that is scored by code which is not trusted, unless `trust`."""
    if not 0 < level < 1:
        raise InputError(f"a level of {level:g}; it lies between 0 and 1, 0.95 for instance")
    runs = [RunDir.open(path, trust=trust) for path in (paths.values() if isinstance(paths, Mapping) else paths)]
    if len({run.path.resolve() for run in runs}) < len(runs):
        raise InputError("a run folder is named twice; name each once")
    names = [run.path.resolve().name for run in runs]
    labels = names if len(set(names)) == len(names) else [str(run.path) for run in runs]
    labels = list(paths) if isinstance(paths, Mapping) else labels
    return [_examined(label, run) for label, run in zip(labels, runs, strict=True)]


def _examined(label: str, run: RunDir) -> Examined:
    known = run.environment()
    last = next(reversed(worked(known.sessions)), known.current)
    versions, runtimes = known.current.get("versions", {}), by_task(last) if last else None
    homes = by_agent(last) if last else {}
    with run.ledger() as ledger:
        looks, by_seed = tuple(ledger.looks()), frozenset(ledger.by_seed())
    return Examined(label, run, run.config(), versions, runtimes, homes, looks, by_seed)


def paired_by_seed(runs: Sequence[Examined]) -> frozenset[str]:
    """Tasks of which trials are paired by their seeds: those that begin by them alone in every run."""
    return frozenset.intersection(*(run.by_seed for run in runs))


def against(what: str, first: object, second: object) -> str:
    """One thing in which two runs differ."""
    return f"{what}: {first} against {second}"


def unlike_tasks(first: Examined, second: Examined) -> list[str]:
    """What differs in how trials of the tasks of both went: options, step limits, success rule, and so on."""
    found = []
    for name in common_tasks([first, second]):
        a, b = (_task(run.cfg, name) for run in (first, second))
        found += [against(f"task {name}, {key}", _short(x), _short(y)) for key, x, y in _leaves(a, b)]
    return found


def unlike_scoring(first: Examined, second: Examined) -> list[str]:
    """What differs in the numbers that scores depend on; an option that says what holds anyway is no difference."""
    a, b = (_settings(run.cfg.scoring) for run in (first, second))
    return [against(f"scoring.{key}", _short(x), _short(y)) for key, x, y in _leaves(a, b)]


def unlike_versions(first: Examined, second: Examined) -> list[str]:
    """Packages that both runs name, in versions that are not equal."""
    known = [name for name in DECISIVE if name in first.versions and name in second.versions]
    pairs = [(name, first.versions[name], second.versions[name]) for name in known]
    return [against(*pair) for pair in pairs if pair[1] != pair[2]]


def unlike_runtimes(first: Examined, second: Examined) -> list[str]:
    """Tasks and agents of both runs that lived in different software: hashes, and packages that are not equal."""
    if first.runtimes is None or second.runtimes is None:
        return []
    also = {agent.name for agent in second.cfg.agents}
    agents = [agent.name for agent in first.cfg.agents if agent.name in also]
    pairs = [
        (f"task {name}", first.runtimes.get(name), second.runtimes.get(name)) for name in common_tasks([first, second])
    ]
    pairs += [(f"agent {name}", first.homes.get(name), second.homes.get(name)) for name in agents]
    found = []
    for what, a, b in pairs:
        if not same(a, b):
            apart = few([against(which, x or "none", y or "none") for which, x, y in versions_apart(a, b)])
            found.append(against(f"{what}, runtime", _hashed(a), _hashed(b)) + (f" ({apart})" if apart else ""))
    return found


def _hashed(runtime: Runtime | None) -> str:
    short = "" if runtime is None else runtime.get("hash", "")[:12]
    return f"{called(runtime)}, hash {short}," if short else called(runtime)


Differ = Callable[[Examined, Examined], Sequence[str]]


def differences_among(runs: Sequence[Examined], *differ: Differ) -> list[str]:
    """Everything in which the runs differ from the first, and which two do."""
    return [
        f"{found} ({runs[0].label}, {other.label})"
        for other in runs[1:]
        for each in differ
        for found in each(runs[0], other)
    ]


def refused(what: str, differing: Sequence[str], instead: str) -> InputError:
    """What to say to someone whose runs differ."""
    listed = "\n  ".join(differing)
    return InputError(
        f"{what}; they differ in\n  {listed}\nRun one of them again with the other's settings (for scoring, "
        f"`proctor score RUN --set scoring.KEY=VALUE` is enough){instead}"
    )


def common_tasks(runs: list[Examined]) -> list[str]:
    """In the order of the first run."""
    return [t.name for t in runs[0].cfg.tasks if all(t.name in {u.name for u in r.cfg.tasks} for r in runs)]


def names_apart(names: Sequence[Sequence[str]], labels: Sequence[str]) -> list[list[str]]:
    """Names of agents, run by run: `run:agent` where several runs have one of that name."""
    every = [name for of_run in names for name in of_run]
    return [
        [name if every.count(name) == 1 else f"{label}:{name}" for name in of_run]
        for of_run, label in zip(names, labels, strict=True)
    ]


def about_stopping(runs: Sequence[Examined]) -> list[str]:
    """What is to be said of runs that could stop early."""
    stopped = [run.label for run in runs if run.cfg.stop_when is not None]
    if not stopped:
        return []
    return [
        f"{', '.join(stopped)} could stop early: tests and intervals here are for a number of trials that was fixed "
        "before, and are too sure of themselves; the report of the run has the test and the interval that hold."
    ]


def _task(cfg: EvalConfig, name: str) -> dict[str, Any]:
    """A task with what the run decides for it."""
    task = cfg.task(name)
    data = {key: value for key, value in task.model_dump(mode="json").items() if key not in FREE_OF_TASK}
    return {**data, "max_episode_steps": task.max_episode_steps or cfg.max_episode_steps}


def _settings(scoring: ScoringCfg) -> dict[str, Any]:
    """With the defaults of a registered scoring; one of the user's own is not imported for this."""
    return make_scoring(scoring).settings() if scoring.mode in SCORINGS.names() else scoring.model_dump(mode="json")


def _leaves(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """What differs, value by value, also where one of the two has none of a group of them."""
    for key, x, y in differences(a, b):
        if (isinstance(x, dict) and y is None) or (isinstance(y, dict) and x is None):
            yield from differences(x or {}, y or {}, key) or [(key, x, y)]
        else:
            yield key, x, y


def _short(value: Any) -> str:
    """A setting as a config has it; a long one says how much there is."""
    if isinstance(value, dict):
        shown, many = (
            f"{{{', '.join(f'{key}: {_short(own)}' for key, own in value.items())}}}",
            f"{len(value)} settings",
        )
    elif isinstance(value, list):
        shown, many = f"[{', '.join(map(_short, value))}]", f"{len(value)} values"
    else:
        shown, many = "none" if value is None else str(value), ""
    if len(shown) <= LONGEST:
        return shown
    return many or shown[: LONGEST - 3] + "..."
