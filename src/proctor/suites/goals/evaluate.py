"""A whole goal evaluation: ask the priors, run the ablation, write the report. And the report again, from records."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from proctor.config.models import EvalConfig
from proctor.errors import InputError
from proctor.record.rundir import RunDir, new_folder
from proctor.runs.resume import resume
from proctor.runs.session import Hooks, RunEnd
from proctor.runs.start import start
from proctor.suites.goals.ablation import ablation_config, read_ablation
from proctor.suites.goals.build import build_report
from proctor.suites.goals.collect import task_instructions
from proctor.suites.goals.config import VISUAL, AloneCfg, GoalsCfg, PriorCfg
from proctor.suites.goals.evidence import Answers
from proctor.suites.goals.instructions import Instruction, instructions_for
from proctor.suites.goals.models import Surroundings, make_goal_model
from proctor.suites.goals.protocol import DRAW_STREAM, WORDING_STREAM, GoalModel, goals_of, task_rng, texts_of
from proctor.suites.goals.records import Records, read_records, write_records
from proctor.suites.goals.report.files import write_goals
from proctor.suites.goals.report.model import GoalsReport
from proctor.suites.goals.visuals import INDEX, Visuals, read_visuals


def ask(prior: PriorCfg, goals: GoalsCfg, instructions: Mapping[str, Instruction], visuals: Visuals | None) -> Answers:
    """What a prior answers for every task. Each goal is asked for by itself, with a generator of its own that depends
    on the task and the draw only: neither the order of tasks nor who else is asked for changes an answer. Tasks it
    cannot answer for are left out, with the reason. Raises InputError where it can answer for none, and SpaceMismatch
    where its space is not that of the success visuals."""
    model = make_goal_model(prior, Surroundings(instructions, visuals, who=f'prior "{prior.name}"'))
    draws: dict[str, np.ndarray] = {}
    wordings: dict[str, np.ndarray] = {}
    missing: dict[str, str] = {}
    for task, instruction in instructions.items():
        try:
            draws[task] = _draws(model, task, instruction, goals)
            wordings[task] = _wordings(model, task, instruction, goals)
        except InputError as error:
            missing[task] = str(error)
    if not draws:
        raise InputError(f'prior "{prior.name}" answers for no task: {next(iter(missing.values()))}')
    texts = texts_of(model, [instructions[task].text for task in draws])
    stacked = np.stack(list(draws.values()))
    return Answers(prior.name, prior.target, model.space, tuple(draws), stacked, wordings, texts, missing)


def _draws(model: GoalModel, task: str, instruction: Instruction, goals: GoalsCfg) -> np.ndarray:
    return _drawn(model, (DRAW_STREAM, task), instruction.text, goals)


def _drawn(model: GoalModel, stream: tuple[int, str], text: str, goals: GoalsCfg) -> np.ndarray:
    rngs = (task_rng(goals.seed, *stream, number) for number in range(goals.draws))
    return np.concatenate([goals_of(model, [text], rng).vectors for rng in rngs])


def _wordings(model: GoalModel, task: str, instruction: Instruction, goals: GoalsCfg) -> np.ndarray:
    """(w, s, d): every wording as often as the instruction, each draw by itself. With one draw for all wordings, noise
    would make them alike."""
    return np.stack([_drawn(model, (WORDING_STREAM, f"{task}\n{text}"), text, goals) for text in instruction.wordings])


@dataclass(frozen=True)
class Evaluated:
    """`report` is None where the ablation was stopped before its end: `evaluate` with this `folder` goes on."""

    folder: Path
    finished: RunEnd | None
    report: GoalsReport | None


def evaluate(
    cfg: EvalConfig | AloneCfg,
    goals: GoalsCfg,
    hooks: Hooks = Hooks(),  # noqa: B008 - frozen
    folder: str | Path | None = None,
    *,
    trust: bool = False,
) -> Evaluated:
    """Evaluate the priors of a config in a new folder under its output root, or go on in `folder`. `trust`: code that
    the run in that folder names may run, whoever wrote it."""
    if goals.ablation is not None and isinstance(cfg, AloneCfg):
        raise InputError(
            "goals.ablation runs trials, and the config has no tasks to run them on; add `agents` and `tasks`, or "
            "leave the ablation out"
        )
    records, finished = ask_all(cfg, goals), None
    if goals.ablation is not None and isinstance(cfg, EvalConfig):
        finished = _ablate(cfg, records, hooks, None if folder is None else RunDir.open(folder, trust=trust))
        place = finished.run.path
    elif folder is None:
        place = _new_place(cfg)
    else:
        place = Path(folder)
        if not os.path.isdir(place):
            raise InputError(f"no folder {place}; leave it out to make a new one")
    write_records(place, records)
    if finished is not None and not finished.complete:
        return Evaluated(place, finished, None)
    return Evaluated(place, finished, report(place, trust=trust))


def _new_place(cfg: EvalConfig | AloneCfg) -> Path:
    """A new folder under the config's output root: a run without trials, where there is an examination."""
    now = datetime.now()
    alone = isinstance(cfg, AloneCfg)
    return new_folder(Path(cfg.output_root), cfg.name, now) if alone else RunDir.create(cfg, now).path


def ask_all(cfg: EvalConfig | AloneCfg, goals: GoalsCfg) -> Records:
    """What all priors answer, and the success visuals that there are."""
    visuals, reason = _visuals(goals)
    alone = isinstance(cfg, AloneCfg)
    instructions = instructions_alone(goals, visuals) if alone else task_instructions(cfg, goals)
    answers = [ask(prior, goals, instructions, visuals) for prior in goals.evaluated]
    return Records(cfg.name, goals, instructions, answers, visuals, reason)


def instructions_alone(goals: GoalsCfg, visuals: Visuals | None) -> dict[str, Instruction]:
    """What tasks ask for in a config that has none: those that `goals.instructions` names, then those that the success
    visuals have words for; of these, the chosen set."""
    seen = {} if visuals is None else {task: own.instruction for task, own in visuals.tasks.items() if own.instruction}
    words = {**goals.instructions, **{task: text for task, text in seen.items() if task not in goals.instructions}}
    if not words:
        raise InputError(
            "nothing says which tasks there are: the config has no tasks, goals.instructions is empty, and there are "
            f"no success visuals with instructions in {goals.visuals_folder}; name them: "
            "instructions: {TASK: chop a tree}"
        )
    found = instructions_for(dict.fromkeys(words), words, "goals.instructions")
    return {task: found[task] for task in goals.chosen(found)}


def _visuals(goals: GoalsCfg) -> tuple[Visuals | None, str]:
    if (Path(goals.visuals_folder) / INDEX).is_file():
        return read_visuals(goals.visuals_folder), ""
    return None, (
        "There are no success visuals: accuracy, retrieval and the quality gap are not available. Collect them with "
        "`proctor goals collect CONFIG`."
    )


def _ablate(cfg: EvalConfig, records: Records, hooks: Hooks, begun: RunDir | None) -> RunEnd:
    if begun is not None:
        _check_priors(begun, records)
        return resume(begun.path, (), hooks, trust=begun.trust)
    visuals = records.visuals
    tasks = [] if visuals is None else [t for t in records.tasks if t in visuals.tasks and len(visuals.tasks[t].trial)]
    if not tasks:
        raise InputError(
            "an ablation compares with ground-truth visual goals, and no task has a success visual; collect some with "
            "`proctor goals collect CONFIG`, or leave goals.ablation out"
        )
    return start(ablation_config(cfg, records.goals, tasks), hooks)


def _check_priors(run: RunDir, records: Records) -> None:
    """Raise InputError unless the ablation in a folder is of these priors."""
    known = {agent.name: agent.options.get("goals") for agent in run.plain_config().agents}
    wanted = {prior.name: prior.model_cfg.model_dump(mode="json") for prior in records.goals.evaluated}
    if {name: goals for name, goals in known.items() if name != VISUAL} != wanted:
        raise InputError(
            f"the ablation in {run.path} is of other priors ({', '.join(known)}) than the config's "
            f"({', '.join(wanted)}), or of others by these names; leave --run out to begin a new one"
        )


def report(folder: str | Path, *, trust: bool = False) -> GoalsReport:
    """Compute every number again from the records of a folder, and write its files: no model, no simulator. `trust`:
    code that an ablation is scored with may be imported, whoever wrote it."""
    records, place = read_records(folder), Path(folder)
    ablation = None
    if records.goals.ablation is not None:
        ablation = read_ablation(RunDir.open(place, trust=trust), records.goals, records.tasks)
    found = build_report(records, ablation)
    write_goals(place.resolve(), found)
    return found
