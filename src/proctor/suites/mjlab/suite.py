"""The `mjlab` suite, and its options as data."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from proctor.suites.protocol import Suite, SuiteOptions

Signal = Literal["rewards", "terminations", "metrics", "commands", "root"]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class MjlabOptions(SuiteOptions):
    """One task of mjlab's registry, and how it is examined."""

    task: str = Field(min_length=1, max_length=200, pattern=r"^[\w.\-]+$")
    """Its id, such as `Mjlab-Velocity-Flat-Unitree-Go1`."""
    play: bool = True
    """The config that mjlab plays policies with (no noise, no pushes); false: the one that they are trained with."""
    observations: tuple[Name, ...] = Field(default=("actor",), min_length=1)
    """Observation groups that the policy sees. One: as it is; several: a dict of them."""
    episode_length_s: float | None = Field(default=None, gt=0, le=1_000_000, allow_inf_nan=False)
    """Simulated seconds after which an episode is truncated; null: as in training."""
    overrides: dict[Name, Any] = Field(default_factory=dict)
    """Changes of mjlab's config: dotted name -> value, such as `commands.twist.ranges.lin_vel_x: [1, 1]`. Null takes an
    entry of a dict away (`events.push_robot: null`)."""
    success: Literal["command", "survived"] | None = None
    """command: what the task's command term calls success holds now. survived: no termination but the time limit.
    null: nothing is a success, and the return is the score."""
    signals: tuple[Signal, ...] = ("rewards", "terminations", "metrics", "commands", "root")
    """What is recorded, where the task has it."""
    batch: bool = False
    """Step many worlds in one simulation. Trials stay the same, but the task may draw random numbers at resets and for
    commands only."""
    device: str = Field(default="cpu", pattern=r"^(cpu|cuda(:\d{1,3})?)$")
    """`cpu`, `cuda` or `cuda:N`."""
    exact: bool = True
    """Trials are equal to the byte, and what is known not to be is refused. false: the last bits may differ from run to
    run, which a GPU needs, and a batch on generated terrain."""

    @field_validator("observations", "signals")
    @classmethod
    def _once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)}: named twice; expected each once")
        return names

    @model_validator(mode="after")
    def _exact(self) -> MjlabOptions:
        if self.exact and self.device != "cpu":
            raise ValueError(
                f"device: {self.device}: a GPU gives no trial twice to the byte; say exact: false to allow it"
            )
        return self

    @model_validator(mode="after")
    def _own_keys(self) -> MjlabOptions:
        """What an option of its own decides is not changed behind its back."""
        for path, instead in OWN.items():
            found = [key for key in self.overrides if key == path or key.startswith(f"{path}.")]
            if found:
                raise ValueError(f"overrides.{found[0]}: {instead}")
        return self


OWN = {
    "auto_reset": "Proctor resets the worlds itself",
    "curriculum": "a trial must not depend on those before it, so there is no curriculum",
    "episode_length_s": "use the option episode_length_s",
    "scene.num_envs": "use the option batch; how many worlds there are is the engine's affair",
}
"""Keys of mjlab's config that `overrides` may not have, and why."""


class MjlabSuite(Suite):
    """Tasks of mjlab: robots that walk, lift and follow, on MuJoCo Warp."""

    name: ClassVar[str] = "mjlab"
    Options: ClassVar[type[SuiteOptions]] = MjlabOptions
    runtime: ClassVar[str | None] = "mjlab"
    environment: ClassVar[str | None] = "proctor.suites.mjlab.worlds:make"
    install: ClassVar[str | None] = "proctor runtimes install mjlab"

    def task_name(self, options: MjlabOptions) -> str:
        """The id, such as `Mjlab-Velocity-Flat-Unitree-Go1`."""
        return options.task

    def is_batch(self, options: MjlabOptions) -> bool:
        return options.batch

    def accelerator(self, options: MjlabOptions) -> str | None:
        return None if options.device == "cpu" else options.device

    def task_defaults(self, options: MjlabOptions) -> dict[str, Any]:
        """A goal that a command sets is reached once it was reached, as mjlab counts it."""
        return {"success_rule": "ever"} if options.success == "command" else {}

    def defines_success(self, options: MjlabOptions) -> bool:
        return options.success is not None

    def needs(self) -> list[tuple[str, str]]:
        return [("mjlab", "mjlab")]
