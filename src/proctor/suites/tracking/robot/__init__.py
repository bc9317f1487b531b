"""The robot under examination: a MuJoCo model and a description of what its joints and bodies are for."""

from proctor.suites.tracking.robot.config import AttachedBody, DescriptionCfg
from proctor.suites.tracking.robot.description import Robot, RobotDescription
from proctor.suites.tracking.robot.loading import load_robot

__all__ = ["AttachedBody", "DescriptionCfg", "Robot", "RobotDescription", "load_robot"]
