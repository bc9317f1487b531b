"""The `endovascular` suite."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, ClassVar

from proctor.suites.endovascular.options import EndovascularOptions
from proctor.suites.protocol import Env, Suite, SuiteOptions


class ArchSuite(Suite):
    """A guidewire in an aortic arch, whatever simulates it."""

    def task_name(self, options: Any) -> str:
        """Such as `arch-I-lcca`, the name of a benchmark's task, of a checkpoint's environment, or of a folder of
        centrelines."""
        anatomy = options.anatomy
        if options.environment_file is not None:
            return PurePath(options.environment_file).stem
        if options.benchmark is not None:
            return str(options.benchmark)
        if anatomy.type == "centerlines":
            return PurePath(anatomy.centerlines_folder).name
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

    def complete(self, options: Any) -> Any:
        """With the environment of a checkpoint, where one is named."""
        if options.environment_file is None:
            return options
        return rebuilt(options)

    def make(self, options: EndovascularOptions, *, render: bool, worlds: int) -> Env:
        from proctor.suites.endovascular.as_steve import AsSteve
        from proctor.suites.endovascular.env import EndovascularEnv
        from proctor.suites.endovascular.two_devices import TwoDeviceEnv

        env = EndovascularEnv(options) if options.catheter is None else TwoDeviceEnv(options)
        return AsSteve(env) if options.observation == "steve" else env


def rebuilt(options: EndovascularOptions) -> EndovascularOptions:
    """The options with those of the environment in their `environment_file`, where they were not given."""
    from proctor.suites.endovascular.checkpoints import embedded_options
    from proctor.suites.endovascular.loaders import read_environment

    file = str(options.environment_file)
    given = options.model_dump(mode="json", exclude_unset=True)
    found = embedded_options(read_environment(file), file)
    anatomy = given.pop("anatomy", {})
    if anatomy.get("type", "aortic_arch") == "aortic_arch":
        anatomy = {**found["anatomy"], **anatomy}
    return EndovascularOptions.model_validate({**found, **given, "anatomy": anatomy})


def warm() -> None:
    """Calls every kernel of the guidewire once, so that it is compiled."""
    for options in (
        EndovascularOptions(),
        EndovascularOptions(catheter="mic_cath", tool="mic_guide", observation="steve"),
    ):
        env = EndovascularSuite().make(options, render=False, worlds=1)
        env.reset(0, 0)
        env.step(env.dummy_action())
        env.close()
