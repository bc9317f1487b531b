"""Where agents are examined: suites by name, and environments from a task's config.

Other packages add suites through the entry point group `proctor.suites`; an import string to a `Suite` class
works as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proctor.errors import InputError
from proctor.registry import Registry, import_object

if TYPE_CHECKING:
    from proctor.config.models import TaskCfg
    from proctor.suites.protocol import BatchEnv, Env, Suite

SUITES = Registry(
    "suite",
    "proctor.suites",
    {
        "crafter": "proctor.suites.crafter.suite:CrafterSuite",
        "endovascular": "proctor.suites.endovascular.suite:EndovascularSuite",
        "gymnasium": "proctor.suites.gymnasium:GymnasiumSuite",
        "soccer": "proctor.suites.soccer.suite:SoccerSuite",
        "libero": "proctor.suites.libero.suite:LiberoSuite",
        "metaworld": "proctor.suites.metaworld.suite:MetaworldSuite",
        "steve": "proctor.suites.steve:SteveSuite",
        "tracking": "proctor.suites.tracking.suite:TrackingSuite",
    },
)


def find_suite(name: str) -> Suite:
    """The suite of this name, or behind this import string. Raises InputError where there is none."""
    from proctor.suites.protocol import Suite

    found = import_object(name) if ":" in name else SUITES.load(name)
    if not (isinstance(found, type) and issubclass(found, Suite)):
        raise InputError(f'the suite "{name}" is {found!r}; expected a subclass of proctor.suites.protocol.Suite')
    return found()


def suite_for(task: TaskCfg) -> Suite:
    """The suite that a task names."""
    return find_suite(task.suite)


def is_batch(task: TaskCfg) -> bool:
    """Whether `make_env` gives a BatchEnv for this task."""
    suite = suite_for(task)
    return suite.is_batch(suite.Options.model_validate(task.options))


def isolated(task: TaskCfg) -> bool:
    """Whether a task's environments may be made in worker processes only."""
    suite = suite_for(task)
    return suite.isolated(suite.Options.model_validate(task.options))


def briefing(task: TaskCfg) -> Any:
    """What an agent may know of a task beforehand."""
    suite = suite_for(task)
    return suite.briefing(suite.Options.model_validate(task.options))


def make_env(task: TaskCfg, *, render: bool, worlds: int) -> Env | BatchEnv:
    """Build a task's environment. `render`: frames will be asked for. `worlds`: how many a batch environment
    may have. Raises InputError for what the user can mend: an unknown id, a missing package, a wrong
    option."""
    suite = suite_for(task)
    return suite.make(suite.Options.model_validate(task.options), render=render, worlds=worlds)
