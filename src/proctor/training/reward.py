"""Evaluate a latent-conditioned model on reward tasks inside a training loop.

    evaluation = RewardEvaluation(RewardEvaluationCfg(tasks=("move-ego-0-0.7", "raisearms-h-h")))
    metrics, log = evaluation.run(timestep=step, agent_or_model=agent, replay_buffer=buffer, logger=logger)

For every task: transitions of the replay buffer get the task's reward, the model's z is inferred from them, and the
agent acts on that z in `num_episodes` episodes, every one of which counts. `metrics` has the numbers of every task,
`log` the mean `name` and the population standard deviation `name#std` over tasks, and the same over the episodes of
each task as `TASK/reward` and `TASK/reward#std`. Nothing of training is changed by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BeforeValidator, Field, field_validator, model_validator

from proctor.errors import InputError
from proctor.generators import seed_generators
from proctor.policies.arrays import beside, no_gradients
from proctor.policies.latent import MapsStates
from proctor.runs.loggers.base import Logger
from proctor.suites.tracking.metrics import summarize
from proctor.suites.tracking.suite import load_task, robot_of
from proctor.suites.tracking.tasks import DEFAULT_TASKS, Limbs, PostureReader, TaskReward, parse_task, task_rewards
from proctor.training.callback import Metrics, log_keys
from proctor.training.driving import Putter, extract_model
from proctor.training.keeping import undisturbed
from proctor.training.options import EvaluationCfg
from proctor.training.own import OwnEnvironment
from proctor.training.results import as_rows
from proctor.training.reward_inference import Method, Samples, draw_samples, infer_latents, sample_weights
from proctor.training.reward_rollout import EpisodeCfg, Played, play, standing_library
from proctor.training.rollout import Episode

TRACKING_ONLY = (
    "n_episodes_per_motion", "success", "terminate", "velocity_multiplier",
    "physics", "device", "contacts", "constraints",
)  # fmt: skip


class RewardEvaluationCfg(EvaluationCfg):
    """The keys of a tracking task that say how the environment is made (`robot`, `observations`, `action`,
    `randomise`, ...), and these. Those that are about following a motion are refused. Episodes start at the first frame
    of one of `motions`; none: standing in the default pose. A video shows the first episode of every task."""

    name_in_logs: str = Field(default="reward", min_length=1, pattern=r"^[^/#]+$")
    tasks: Annotated[tuple[str, ...], BeforeValidator(lambda v: [v] if isinstance(v, str) else v)] = Field(
        default=DEFAULT_TASKS, min_length=1
    )
    """Names as in docs/reward-tasks.md."""
    limbs: Limbs = Limbs()
    """Which bodies are shoulders, hands and feet."""
    num_episodes: int = Field(default=10, ge=1, le=1_000_000)
    """Per task; every one counts."""
    num_inference_samples: int = Field(default=50_000, ge=1, le=100_000_000)
    """Transitions of the replay buffer from which z is inferred."""
    inference: Method = "reward_wr"
    max_episode_length_s: float | None = Field(default=10.0, gt=0, le=1_000_000, allow_inf_nan=False)
    start_noise_rad: float = Field(default=0.05, ge=0, le=1)
    """Uniform noise on each joint at the start: without any, all episodes of a deterministic agent are one."""
    num_envs: int = Field(default=256, ge=1, le=100_000)
    """Worlds, at most; no more are made than there are episodes. It changes no result, but for how a model rounds in
    batches of another size."""
    max_workers: int | None = Field(default=None, ge=1, le=10_000)
    """Threads of the simulation; null: one per core. It changes no result."""

    @field_validator("tasks")
    @classmethod
    def _tasks(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        try:
            found = [str(parse_task(name)) for name in names]
        except InputError as error:
            raise ValueError(str(error)) from None
        twice = sorted({name for name in found if found.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} is named twice; name every task once")
        return tuple(found)

    @model_validator(mode="after")
    def _about_rewards(self) -> Self:
        unused = [key for key in TRACKING_ONLY if key in self.model_fields_set]
        if unused:
            raise ValueError(
                f"{', '.join(unused)}: keys of a tracking evaluation, which rewards do not use; remove them"
            )
        if self.max_episode_length_s is None:
            raise ValueError("max_episode_length_s: a reward task has no end of its own; give seconds, such as 10")
        return self

    @classmethod
    def requires_replay_buffer(cls) -> bool:
        return True


class RewardEvaluation:
    """A reward evaluation that can be run again and again; its worlds are made at the first run and kept until
    `close`."""

    def __init__(self, cfg: RewardEvaluationCfg):
        self.cfg = cfg
        self._made: tuple[OwnEnvironment, list[TaskReward], PostureReader] | None = None

    def run(
        self,
        *,
        timestep: int,
        agent_or_model: Any,
        replay_buffer: Any = None,
        logger: Logger | None = None,
        **_: Any,
    ) -> tuple[Metrics, dict[str, float]]:
        """Evaluate all tasks and log the result at `timestep`. Episodes run in the evaluation's own worlds, whatever
        environment the caller has. `agent_or_model` is a model with backward_map, project_z and act(obs, z,
        mean=True), or an agent that holds one as `._model`; then the agent acts. Raises InputError for what the user
        can mend; training is as it was then, too."""
        model = _checked_model(agent_or_model)
        if replay_buffer is None:
            raise InputError("a reward evaluation infers z from a replay buffer; pass replay_buffer=...")
        if self.cfg.generate_videos:
            from proctor.record.video import require_video

            require_video()
        with undisturbed(model=model):
            played = self._play(agent_or_model, model, replay_buffer, timestep)
        metrics = {name: _numbers(played[name]) for name in self.cfg.tasks}
        log = _log(metrics)
        if logger is not None:
            logger.log(log_keys(self.cfg.name_in_logs, log), timestep)
            logger.log_rows(f"eval/{self.cfg.name_in_logs}/tasks", as_rows(metrics, "task"), timestep)
        if self.cfg.generate_videos:
            self._film(played, timestep)
        return metrics, log

    def close(self) -> None:
        """Let go of the worlds; a later run makes new ones."""
        if self._made is not None:
            self._made[0].close()
            self._made = None

    def _play(self, agent: Any, model: Any, buffer: Any, timestep: int) -> dict[str, list[Played]]:
        """Played episodes by task; none for a task that no sample earns anything in."""
        worlds, rewards, reader = self._make()
        seed = np.random.SeedSequence([self.cfg.seed, timestep])
        seed_generators(int(seed.generate_state(1)[0]))
        samples = draw_samples(buffer, self.cfg.num_inference_samples, np.random.default_rng(seed))
        weights = self._weights(samples, rewards, reader)
        inferred = np.flatnonzero(np.isfinite(weights).all(axis=1))
        played: dict[str, list[Played]] = {name: [] for name in self.cfg.tasks}
        if len(inferred):
            latents = infer_latents(model, samples.observation, weights[inferred])
            chosen = [rewards[i] for i in inferred]
            episodes = [Episode(task, n) for task in range(len(chosen)) for n in range(self.cfg.num_episodes)]
            for one in play(worlds, episodes, _actor(agent, model, latents), chosen, self._episode_cfg()):
                played[chosen[one.task].name].append(one)
        return played

    def _weights(self, samples: Samples, rewards: Sequence[TaskReward], reader: PostureReader) -> np.ndarray:
        """(tasks, samples); a row of NaN where no sample earns anything."""
        joints = reader.robot.description.n_joints
        if samples.action.shape[1:] != (joints,):
            raise InputError(
                f"the buffer's action has shape {samples.action.shape}; expected ({len(samples)}, {joints})"
            )
        posture = reader(samples.qpos, samples.qvel)
        earned = np.stack([reward.of_posture(posture, samples.action) for reward in rewards])
        return sample_weights(earned, self.cfg.inference)

    def _episode_cfg(self) -> EpisodeCfg:
        seconds = self.cfg.max_episode_length_s
        assert seconds is not None
        return EpisodeCfg(max(1, round(seconds * self.cfg.control_hz)), self.cfg.start_noise_rad, self.cfg.seed)

    def _make(self) -> tuple[OwnEnvironment, list[TaskReward], PostureReader]:
        if self._made is None:
            if self.cfg.motions:
                robot, library = load_task(self.cfg)
            else:
                robot = robot_of(self.cfg)
                library = standing_library(robot, 1.0 / self.cfg.control_hz)
            count = min(self.cfg.num_envs, self.cfg.num_episodes * len(self.cfg.tasks))
            options = self.cfg.model_copy(update={"threads": self.cfg.max_workers or self.cfg.threads})
            rewards = task_rewards(list(self.cfg.tasks), robot, self.cfg.limbs, legacy=self.cfg.legacy)
            self._made = OwnEnvironment(robot, library, count, options), rewards, rewards[0].reader
        return self._made

    def _film(self, played: dict[str, list[Played]], timestep: int) -> None:
        from proctor.suites.tracking.rendering import TrackingRenderer
        from proctor.training.videos import render_tracking_video

        robot = self._make()[2].robot
        with TrackingRenderer(robot) as renderer:
            for name, episodes in played.items():
                if episodes:
                    path = Path(self.cfg.videos_dir) / f"{self.cfg.video_name_prefix}_{timestep}_{name}.mp4"
                    render_tracking_video(path, renderer, episodes[0].qpos, fps=self.cfg.control_hz)


def _checked_model(agent_or_model: Any) -> Any:
    model = extract_model(agent_or_model)
    if not isinstance(model, MapsStates):
        raise InputError(
            f"cannot infer z with a {type(model).__name__}: expected a model with backward_map, project_z and act, or "
            "an agent that holds one as ._model"
        )
    return model


def _actor(agent: Any, model: Any, latents: Any) -> Any:
    """Acts on the latent of each row's task."""
    put = Putter(model)

    def act(observation: Any, tasks: np.ndarray) -> Any:
        with no_gradients():
            return agent.act(put(observation), latents[beside(latents, tasks)], mean=True)

    return act


def _numbers(played: Sequence[Played]) -> dict[str, Any]:
    """Of one task. `reward` (mean per step, in [0, 1]) and `return` (sum) are means over all episodes; NaN for a task
    without an inferred z."""
    means = np.array([one.rewards.mean() for one in played])
    returns = np.array([one.rewards.sum() for one in played])
    return {
        "reward": float(means.mean()) if len(means) else np.nan,
        "return": float(returns.mean()) if len(means) else np.nan,
        "episode_rewards": means.tolist(),
        "n_episodes": len(played),
        "n_broken": sum(one.broken for one in played),
    }


def _log(metrics: Metrics) -> dict[str, float]:
    log = summarize([{key: numbers[key] for key in ("reward", "return")} for numbers in metrics.values()])
    log["n_episodes"] = float(sum(numbers["n_episodes"] for numbers in metrics.values()))
    log["n_broken"] = float(sum(numbers["n_broken"] for numbers in metrics.values()))
    for task, numbers in metrics.items():
        if numbers["n_episodes"]:
            log[f"{task}/reward"] = numbers["reward"]
            log[f"{task}/reward#std"] = float(np.std(numbers["episode_rewards"]))
            log[f"{task}/reward#n"] = float(numbers["n_episodes"])
    return log
