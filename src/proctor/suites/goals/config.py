"""The section `goals` of a config: what is encoded, how success visuals are chosen, which priors are evaluated.

It stands beside the agents and tasks of an ordinary examination. Those agents are who collects successes; the tasks are
what goals are for. Without agents and tasks it stands alone: the tasks are then those that `instructions` and the
success visuals name, and no simulator is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from proctor.config import EvalConfig, load_sections_or_alone
from proctor.config.models import LARGEST_SEED, MOST_TRIALS, Frozen
from proctor.errors import InputError
from proctor.suites.goals.models import GoalModelCfg

VISUAL = "visual goal"
"""The name of the agent whose goals are the success visuals."""


class SelectionCfg(Frozen):
    """Which frames of a success are kept. A frame that is both among the last and the best is kept once."""

    last: int = Field(default=5, ge=0, le=1_000_000)
    """How many from the end."""
    best: bool = True
    """The frame after the step with the highest reward, the first of them."""
    frames: str = Field(default="render", pattern=r"^(render|observation(\.[^.\s]+)?)$")
    """Where frames come from: `render`, `observation` (the observation is a picture), or `observation.KEY`."""
    picture_px: int = Field(default=64, ge=8, le=256)
    """The longer side of the small pictures that are kept for the report."""

    @model_validator(mode="after")
    def _something(self) -> SelectionCfg:
        if not self.last and not self.best:
            raise ValueError("found last: 0 and best: false, which keeps nothing; set one of them")
        return self


class PriorCfg(GoalModelCfg):
    """A prior under evaluation."""

    name: str = Field(min_length=1)

    @property
    def model_cfg(self) -> GoalModelCfg:
        """The same without its name."""
        return GoalModelCfg(target=self.target, kwargs=self.kwargs, runtime=self.runtime)


class AblationCfg(Frozen):
    """Trials that tell what a prior costs: the policy with its goals, and with the success visuals, on equal seeds."""

    target: str = Field(min_length=1)
    """The goal-conditioned policy, as in the `goal` loader."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    checkpoint_file: str | None = None
    device: str = "cpu"
    n_trials: int = Field(default=10, ge=1, le=MOST_TRIALS)
    base_seed: int = Field(default=100_000, ge=0, le=LARGEST_SEED)
    """Seeds that no success visual comes from."""


class BandCfg(Frozen):
    """From `excellent` on, from `good` on, else needs work. Where `good` is the larger number, lower is better."""

    excellent: float
    good: float


class RangeCfg(Frozen):
    """Low below `low`, high above `high` (None: never), else normal."""

    low: float
    high: float | None = None


class BandsCfg(Frozen):
    """Reference bands: where to look first, no verdict by themselves."""

    accuracy: BandCfg = BandCfg(excellent=0.6, good=0.4)
    quality_gap: BandCfg = BandCfg(excellent=0.1, good=0.3)
    consistency: BandCfg = BandCfg(excellent=0.95, good=0.85)
    retrieval: BandCfg = BandCfg(excellent=0.8, good=0.5)
    discriminability: BandCfg = BandCfg(excellent=0.5, good=0.3)
    robustness: BandCfg = BandCfg(excellent=0.9, good=0.7)
    variance: RangeCfg = RangeCfg(low=1e-4)
    """Of d dimensions it is 1 / d at most, so with 100 and more nothing lies above 0.01."""


class GoalsCfg(Frozen):
    """The whole section."""

    model: GoalModelCfg
    """Encodes the pictures of success; also the prior `model` where `priors` names none."""
    visuals_folder: str = "success_visuals"
    select: SelectionCfg = SelectionCfg()
    priors: tuple[PriorCfg, ...] = ()
    instructions: dict[str, str | dict[str, Any]] = Field(default_factory=dict)
    """Task -> text, or a mapping with `instruction` and `paraphrases`; left out: what the suite tells."""
    task_sets: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Name -> tasks: `task_set`, or `--task-set` on the command line, takes one of them."""
    task_set: str | None = None
    """Of all tasks only those of this set."""
    draws: int = Field(default=10, ge=1, le=100_000)
    """How often a prior is asked for each instruction."""
    k: int = Field(default=5, ge=1, le=100_000)
    accuracy: Literal["raw", "mean_embedding", "shifted"] = "raw"
    """`raw`: mean cosine with the success embeddings; `mean_embedding`: cosine with their mean; `shifted`:
    (cosine + 1) / 2."""
    unit: Literal["trial", "window"] = "trial"
    """What a success embedding is of: a trial (the mean of its windows), or each window by itself."""
    seed: int = Field(default=0, ge=0, le=LARGEST_SEED)
    level: float = Field(default=0.95, gt=0, lt=1)
    bands: BandsCfg = BandsCfg()
    ablation: AblationCfg | None = None

    @model_validator(mode="after")
    def _names(self) -> GoalsCfg:
        names = [prior.name for prior in self.priors]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice or VISUAL in names:
            wrong = ", ".join(twice) if twice else VISUAL
            raise ValueError(f'two priors are named alike, or as the reference "{VISUAL}": {wrong}; rename one')
        return self

    @model_validator(mode="after")
    def _set_is_known(self) -> GoalsCfg:
        if self.task_set is not None and self.task_set not in self.task_sets:
            known = ", ".join(self.task_sets) or "none"
            raise ValueError(f'there is no set of tasks "{self.task_set}"; goals.task_sets names: {known}')
        return self

    def chosen(self, tasks: Iterable[str]) -> list[str]:
        """Those of these tasks that are to be looked at: all, or those of the chosen set in its order. Raises
        InputError where the set names others."""
        known = list(tasks)
        if self.task_set is None:
            return known
        wanted = self.task_sets[self.task_set]
        unknown = [task for task in wanted if task not in known]
        if unknown:
            raise InputError(
                f'the set of tasks "{self.task_set}" names {", ".join(unknown)}; expected tasks: {", ".join(known)}'
            )
        return list(wanted)

    @property
    def evaluated(self) -> tuple[PriorCfg, ...]:
        """The priors, or the model itself."""
        return self.priors or (PriorCfg(name="model", **dict(self.model)),)


class AloneCfg(Frozen):
    """What may stand beside the section `goals` in a config without agents and tasks."""

    name: str = Field(default="goals", min_length=1)
    output_root: str = EvalConfig.model_fields["output_root"].default


def load_goals(path: str | Path, overrides: Sequence[str] = ()) -> tuple[EvalConfig | AloneCfg, GoalsCfg]:
    """The examination of a YAML file and its section `goals`; of a file with neither agents nor tasks, its name and
    where to write. An examination has the tasks of the chosen set only. Raises ConfigError with every problem found."""
    cfg, found = load_sections_or_alone(path, overrides, {"goals": GoalsCfg}, AloneCfg)
    goals: GoalsCfg | None = found["goals"]
    if goals is None:
        raise InputError(f"{path} has no section `goals`; it names at least the encoder: goals: {{model: my.py:Model}}")
    folder = Path(path).absolute().parent / goals.visuals_folder
    goals = goals.model_copy(update={"visuals_folder": str(folder)})
    if isinstance(cfg, AloneCfg):
        return cfg, goals
    names = [task.name for task in cfg.tasks]
    unknown = sorted(goals.instructions.keys() - set(names))
    if unknown:
        raise InputError(f"{path}: goals.instructions names {', '.join(unknown)}; expected tasks: {', '.join(names)}")
    tasks = tuple(cfg.task(name) for name in goals.chosen(names))
    return cfg.model_copy(update={"tasks": tasks}), goals
