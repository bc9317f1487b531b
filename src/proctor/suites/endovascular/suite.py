"""The `endovascular` suite."""

from __future__ import annotations

from typing import Any, ClassVar

from proctor.suites.endovascular.options import EndovascularOptions
from proctor.suites.protocol import Env, Suite, SuiteOptions


class ArchSuite(Suite):
    """A guidewire in an aortic arch, whatever simulates it."""

    def task_name(self, options: Any) -> str:
        """Such as `arch-I-lcca`."""
        anatomy = options.anatomy
        return f"arch-{anatomy.arch_type}-{'-'.join(anatomy.target_branches)}"

    def begins_by_seed(self, options: Any) -> bool:
        return True

    def scoring(self, options: Any) -> str:
        return "default_v1"


class EndovascularSuite(ArchSuite):
    """A guidewire in an aortic arch, on the embedded simulator."""

    name: ClassVar[str] = "endovascular"
    Options: ClassVar[type[SuiteOptions]] = EndovascularOptions
    kernels: ClassVar[tuple[str, ...]] = ("proctor.suites.endovascular.suite:warm",)

    def scoring(self, options: Any) -> str:
        """Forces are newtons here, so that scales can be said beforehand."""
        return "default_v2"

    def make(self, options: EndovascularOptions, *, render: bool, worlds: int) -> Env:
        from proctor.suites.endovascular.env import EndovascularEnv

        return EndovascularEnv(options)


def warm() -> None:
    """Calls every kernel of the guidewire once, so that it is compiled."""
    env = EndovascularSuite().make(EndovascularOptions(), render=False, worlds=1)
    env.reset(0, 0)
    env.step(env.dummy_action())
    env.close()
