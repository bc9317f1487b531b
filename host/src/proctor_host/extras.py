"""What a worker does beside stepping: make environments, measure, film, ask policies.

`Extras` is what any interpreter can do with the standard library and numpy. The engine's own interpreter has more
(metrics, an encoder for video, policies that live in workers), which it says as an import string when it starts a
worker there. What a worker cannot do is left to the engine: a record is measured and frames are encoded when the trial
has been reported.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any, ContextManager, Mapping, Sequence

from proctor_host.cfg import TaskCfg, WorkerCfg
from proctor_host.environments import BatchEnv, Env
from proctor_host.episode import Episode
from proctor_host.errors import InputError
from proctor_host.frames import FrameSpool
from proctor_host.spaces import Other, others
from proctor_host.task import Task


class NoPolicies:
    """No policy lives in this worker: the engine is asked for every action."""

    waiting: Sequence[Any] = ()

    def ask(self, requests: Sequence[Any]) -> None:
        """Nobody asks here."""

    def tell(self) -> None:
        """There is nothing to tell."""

    def close(self) -> None:
        """There is nothing to let go of."""

    def knows(self, agent: str) -> bool:
        return False

    def load(self, agent: Any) -> None:
        raise InputError("policies live in the engine's own interpreter only; set placement: engine")

    def request(self, trial: Any) -> Any:
        return None

    def answer(self) -> None:
        """Nobody waits."""

    def pilot(self, agent: str, task: Task, kit: Any) -> str:
        """Why no policy can be asked for the worlds of a device."""
        return "its policy is asked by the engine"


class Extras:
    """Of a worker with this config."""

    measures = False
    """Whether `measure` gives the metrics of an episode; if not, the engine computes them."""

    def __init__(self, cfg: WorkerCfg):
        self.cfg = cfg

    def make(self, task: TaskCfg, render: bool, worlds: int) -> Any:
        """The task's environment. Raises InputError where nothing says how to make it here, and whatever making it
        raises."""
        if task.environment is None:
            raise InputError(
                f'the suite "{task.suite}" does not say how its environments are made in another interpreter; leave '
                "out the task's runtime, or give the suite an `environment` (docs/runtimes.md)"
            )
        made = import_object(task.environment)(namespace(task.options), render=render, worlds=worlds)
        if not isinstance(made, (Env, BatchEnv)):
            raise InputError(f"{task.environment} gave a {type(made).__name__}; expected an Env or a BatchEnv")
        return made

    def check(self, task: Task) -> None:
        """Raise InputError where what a task's environments give cannot be sent to the engine."""
        found = [other.space for other in others(task.observation) if isinstance(other, Other)]
        if found:
            raise InputError(
                f"the observation space {found[0]} has no description that another interpreter would understand; wrap "
                "the environment so that its observations are arrays, text, and dicts and tuples of these"
            )

    def measure(self, episode: Episode) -> dict[str, float | None]:
        """The metrics of an episode."""
        return {}

    def warm_up(self) -> None:
        """Have ready what `measure` needs, so that the first episode does not wait for it."""

    def beside(self, episode: Episode) -> bool:
        """Whether measuring an episode takes long and leaves the interpreter free meanwhile, so that it is worth a
        thread of its own."""
        return False

    def scribe(self) -> list[str] | None:
        """A command line that starts `proctor_host.scribe` in this interpreter, where what is here can be had again;
        None: records are made in this process."""
        return None

    def film(self, folder: Path | None, stem: str, fps: float) -> Any:
        """A writer for the frames of a trial: `add`, then `close` or `discard`; `path` is where it writes."""
        return FrameSpool(folder, stem, fps)

    def policies(self, host: Any) -> Any:
        """The policies that live in the worker."""
        return NoPolicies()

    def pinned(self) -> ContextManager[Any]:
        """While the worker works: numeric libraries keep to the run's number of threads. The variables that it was
        started with say so already."""
        return contextlib.nullcontext()


def namespace(value: Any) -> Any:
    """Plain data, mappings with their keys as attributes, nested ones, too."""
    if isinstance(value, Mapping):
        return Options({key: namespace(part) for key, part in value.items()})
    if isinstance(value, (list, tuple)):
        return [namespace(part) for part in value]
    return value


class Options(dict):  # type: ignore[type-arg]
    """A mapping whose keys are attributes as well."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no option {name!r}; found {', '.join(map(str, self))}") from None


def import_object(name: str) -> Any:
    """What an import string (`package.module:name`, `file.py:name`) means. Raises InputError where there is none."""
    place, _, path = name.rpartition(":")
    try:
        found: Any = _import_file(place) if place.endswith(".py") else importlib.import_module(place)
    except ModuleNotFoundError as error:
        raise InputError(
            f'"{name}" cannot be imported by {sys.executable}: there is no module "{error.name}" there; if a package '
            f"has it: {sys.executable} -m pip install {str(error.name).partition('.')[0]}"
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise InputError(f'"{name}": there is no "{part}" in {place}')
        found = getattr(found, part)
    return found


def _import_file(place: str) -> Any:
    path = os.path.abspath(place)
    name = f"_proctor_file_{abs(hash(path)):x}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None or not os.path.isfile(path):
            raise InputError(f"there is no Python file {path}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        sys.path.append(os.path.dirname(path))
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]  # or it would be found half made the next time
            raise
    return sys.modules[name]
