"""What workers are told of a run."""

from __future__ import annotations

from pathlib import Path

from proctor.config.models import EvalConfig, LimitsCfg, RecordCfg
from proctor.rollout.tasks import plain_task
from proctor_host import cfg as plain


def worker_cfg(cfg: EvalConfig, folder: Path) -> plain.WorkerCfg:
    """A run's config as its workers need it."""
    return plain.WorkerCfg(
        folder=str(folder),
        tasks={task.name: plain_task(task, cfg.max_episode_steps) for task in cfg.tasks},
        record=plain_record(cfg.record),
        limits=plain_limits(cfg.limits),
        metrics=tuple(cfg.scoring.metrics),
        brought={agent.name: agent.task_options for agent in cfg.agents if agent.task_options},
    )


def plain_limits(limits: LimitsCfg) -> plain.LimitsCfg:
    return plain.LimitsCfg(limits.step_s, limits.reset_s, limits.trial_s, limits.act_s)


def plain_record(record: RecordCfg) -> plain.RecordCfg:
    video = record.video
    return plain.RecordCfg(
        series=record.level != "summary",
        observations=record.observations,
        states=record.states,
        films=record.level == "video",
        every=video.every,
        fps=video.fps,
        keep_successes=video.trials != "failures",
    )
