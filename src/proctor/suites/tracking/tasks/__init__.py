"""Reward tasks: what a humanoid may be asked to do without a reference motion, by name."""

from proctor.suites.tracking.tasks.names import DEFAULT_TASKS, Task, parse_task
from proctor.suites.tracking.tasks.posture import Limbs, Posture, PostureReader
from proctor.suites.tracking.tasks.rewards import TaskReward, task_reward, task_rewards

__all__ = [
    "DEFAULT_TASKS", "Limbs", "Posture", "PostureReader", "Task", "TaskReward", "parse_task", "task_reward",
    "task_rewards",
]  # fmt: skip
