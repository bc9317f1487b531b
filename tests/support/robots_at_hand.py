"""A robot that needs a person, and people who are always there. Workers import this file by its path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from proctor.rollout.attending import Question
from proctor_host import Env, Step, spaces

HERE = Path(__file__)


class Robot(Env):
    """Counts its steps. It writes down its resets and refuses to exist twice."""

    observation_space = spaces.Box(0.0, 100.0, (1,), np.float64)
    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    max_steps = 4
    attended = True

    def __init__(self, options: Any):
        self._folder, self._breaks = Path(options.folder), list(getattr(options, "breaks", ()))
        self._lock = self._folder / "robot.lock"
        self._lock.touch(exist_ok=False)

    def reset(self, seed: int, index: int) -> Any:
        with (self._folder / "resets").open("a") as file:
            file.write(f"{seed}\n")
        self._age = 0
        if self._breaks and seed == self._breaks[0] and not (self._folder / "broken").exists():
            (self._folder / "broken").touch()
            raise RuntimeError("the gripper is stuck")
        return np.zeros(1)

    def step(self, action: Any) -> Step:
        self._age += 1
        return Step(np.full(1, float(self._age)), 1.0, False, False, True)

    def close(self) -> None:
        self._lock.unlink()


class Willing(Robot):
    """One that can be left alone."""

    attended = False


def make(options: Any, *, render: bool, worlds: int) -> Robot:
    return (Willing if getattr(options, "alone", False) else Robot)(options)


class Scripted:
    """Answers by the kind of question, the last answer of a kind again and again. `asked` has all questions."""

    def __init__(self, **answers: list[str]):
        self._answers = {"reset": [""], "again": ["y"], "success": ["y"], **answers}
        self.asked: list[Question] = []
        self._looked = self.forgotten = 0
        self._open: Question | None = None

    def ask(self, question: Question) -> None:
        assert self._open is None, "one question at a time"
        self._open, self._looked = question, 0
        self.asked.append(question)

    def answer(self) -> str | None:
        assert self._open is not None
        self._looked += 1
        if self._looked < 2:
            return None  # people take their time
        answers = self._answers[self._open.kind]
        self._open = None
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def wait(self) -> None:
        """Leave the open question without an answer."""
        self._looked = -1_000_000

    def forget(self) -> None:
        self._open = None
        self.forgotten += 1
