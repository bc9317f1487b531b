"""An evaluation function of the user's, called as the competition's runner calls one.

After every step: `reward, eval_state = function(env, eval_state)`, where `env` is the unwrapped environment and
`eval_state` holds `terminated` and `truncated` of this step beside whatever the function keeps there. The file sees
`np`, as it does in the competition. It is run anew for each episode, with an empty `eval_state`, so that nothing leads
from one episode to the next; modules beside it that it imports at its top are, too. What it raises is its own fault,
and is told with its line.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from proctor.errors import BREAKS, InputError, TaskCodeError
from proctor.interpreters import is_neighbour, search_last

if TYPE_CHECKING:
    from proctor.suites.soccer.options import EvaluationCfg

MODULE = "proctor_evaluation"


def with_hash(cfg: EvaluationCfg) -> EvaluationCfg:
    """With the file's hash filled in. Raises InputError where the file is not the one that the config means; that it is
    not there, whoever resolved the path has said."""
    if not os.path.exists(cfg.file):
        return cfg
    return cfg.model_copy(update={"sha256": hashlib.sha256(_read(cfg)).hexdigest()})


def _read(cfg: EvaluationCfg) -> bytes:
    try:
        source = Path(cfg.file).read_bytes()
    except OSError as error:
        raise InputError(f"evaluation: {cfg.file} cannot be read: {error.strerror}") from None
    found = hashlib.sha256(source).hexdigest()
    if cfg.sha256 not in (None, found):
        raise InputError(
            f"evaluation: {cfg.file} has the sha256 {found}, but the config has {cfg.sha256}: the file has been "
            "changed. Put the old one back, or leave sha256 out of a new run's config"
        )
    return source


class Evaluation:
    """The function of one world. `reset` before a trial, then a call after each step."""

    def __init__(self, cfg: EvaluationCfg):
        source = _read(cfg)
        self.sha256 = hashlib.sha256(source).hexdigest()
        self.name = f"{Path(cfg.file).name}:{cfg.function}"
        if not cfg.trust:
            raise InputError(
                f"evaluation: {cfg.file} (sha256 {self.sha256}) is code that would run on this machine with your "
                "rights; read it, then set trust: true"
            )
        self._cfg = cfg
        try:
            self._code = compile(source, cfg.file, "exec")
        except (SyntaxError, ValueError) as error:
            raise InputError(f"evaluation: {cfg.file} is no Python file: {error}") from None
        self._folder = os.path.dirname(os.path.realpath(cfg.file))
        search_last([self._folder])
        try:
            self.reset()
        except TaskCodeError as error:
            raise InputError(str(error)) from None

    def reset(self) -> None:
        """Forget the last trial. Raises InputError where the file does not define the function, TaskCodeError for what
        it raises itself."""
        namespace: dict[str, Any] = {"np": np, "__name__": MODULE, "__file__": self._cfg.file}
        with _folder_before_its_like(self._folder):
            try:
                exec(self._code, namespace)
            except BREAKS as error:
                raise self._told(error) from error
        function = namespace.get(self._cfg.function)
        if not callable(function):
            raise InputError(
                f'evaluation: {self._cfg.file} defines no function "{self._cfg.function}"; say which one is meant: '
                "function: NAME"
            )
        self._function, self._state = function, {}

    def __call__(self, env: Any, terminated: bool, truncated: bool) -> float:
        """The reward of a step. Raises TaskCodeError where the function raises, or gives something else."""
        self._state["terminated"], self._state["truncated"] = terminated, truncated
        try:
            answer = self._function(env, self._state)
        except BREAKS as error:
            raise self._told(error) from error
        if not (isinstance(answer, (tuple, list)) and len(answer) == 2 and isinstance(answer[1], dict)):
            raise TaskCodeError(f"evaluation: {self.name} returned {answer!r}; expected (reward, eval_state)")
        try:
            reward, self._state = float(answer[0]), answer[1]
        except (TypeError, ValueError) as error:
            raise TaskCodeError(f"evaluation: {self.name} gave the reward {answer[0]!r}; {error}") from None
        if not math.isfinite(reward):
            raise TaskCodeError(f"evaluation: {self.name} gave the reward {reward}; expected a finite number")
        return reward

    def _told(self, error: BaseException) -> TaskCodeError:
        """What the file raised, with the line of its own that led there."""
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == self._cfg.file]
        where = f"{self._cfg.file}, line {lines[-1]}" if lines else self._cfg.file
        return TaskCodeError(f"evaluation: {where}: {type(error).__name__}: {error}")


@contextlib.contextmanager
def _folder_before_its_like(folder: str) -> Iterator[None]:
    """Modules of this folder are found before those of the same name beside other configs, and are forgotten
    afterwards: they run anew with the file that imports them."""
    path, known = list(sys.path), set(sys.modules)
    others = [entry for entry in path if is_neighbour(os.path.join(entry, "module.py"))]
    sys.path[:] = [entry for entry in path if entry not in others] + [folder] + others
    try:
        yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - known:
            if os.path.dirname(getattr(sys.modules[name], "__file__", None) or "") == folder:
                del sys.modules[name]
