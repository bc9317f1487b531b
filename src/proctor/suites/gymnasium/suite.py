"""The `gymnasium` suite."""

from __future__ import annotations

from typing import ClassVar

from proctor.suites.gymnasium.options import GymnasiumOptions
from proctor.suites.protocol import Suite, SuiteOptions

PLAIN_PYTHON = ("gymnasium.envs.classic_control", "gymnasium.envs.toy_text")
"""Modules of Gymnasium's own tasks without a simulator beneath them."""


def _own_code(options: GymnasiumOptions) -> bool:
    return options.success is not None and options.success.function is not None


class GymnasiumSuite(Suite):
    """Any registered Gymnasium environment."""

    name: ClassVar[str] = "gymnasium"
    Options: ClassVar[type[SuiteOptions]] = GymnasiumOptions
    environment: ClassVar[str | None] = "proctor.suites.gymnasium.making:make"
    runtime: ClassVar[str | None] = "gymnasium"

    def task_name(self, options: GymnasiumOptions) -> str:
        """The id without its module, `/` made a dash."""
        return options.id.rpartition(":")[2].partition("@")[0].replace("/", "-")

    def harmless(self, options: GymnasiumOptions) -> bool:
        """Gymnasium's own tasks in plain Python, as they are registered."""
        if options.imports or options.wrappers or options.vector is not None or ":" in options.id:
            return False
        from gymnasium.envs import registration

        spec = registration.registry.get(options.id)
        return spec is not None and str(spec.entry_point).startswith(PLAIN_PYTHON) and not _own_code(options)

    def is_batch(self, options: GymnasiumOptions) -> bool:
        return options.vector is not None

    def begins_by_seed(self, options: GymnasiumOptions) -> bool:
        """Unless initial states are listed, of which the index picks one, or worlds share a seed."""
        joint = options.vector is not None and options.vector.seeding == "joint"
        return options.initial_states is None and not joint

    def defines_success(self, options: GymnasiumOptions) -> bool:
        """Where the config says what success is. That an environment reports success by itself is not known before it
        runs."""
        return options.success is not None

    def unsaid(self, options: GymnasiumOptions) -> str | None:
        """The entry of `info` that the config names."""
        return None if options.success is None or options.success.info is None else f'info["{options.success.info}"]'
