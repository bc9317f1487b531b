"""Options of the `steve` suite, as data."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from proctor.errors import InputError
from proctor.suites.endovascular.options import ENTRIES, ArchCfg, Benchmark, Entry
from proctor.suites.protocol import SuiteOptions
from proctor.suites.steve.devices import check_tool


class SteveArchCfg(ArchCfg):
    """An arch of stEVE's generator."""

    type: Literal["aortic_arch"] = "aortic_arch"
    arch_type: str = "I"
    """One of the arch types that the installed stEVE generates (I, II, IV, V, VI, VII)."""


class SteveOptions(SuiteOptions):
    """One task of the suite."""

    brought: ClassVar[frozenset[str]] = frozenset({"tool"})
    benchmark: Benchmark | None = None
    """One of eve_bench's tasks, made by its own class, with its anatomy and its devices."""
    anatomy: SteveArchCfg = SteveArchCfg()
    tool: str | dict[str, Any] = "angled_standard"
    """A tool of the endovascular suite (a name, or a mapping that describes one), `standard_j` (stEVE's own wire), or
    an import string to a stEVE device. An agent that brings its own tool uses that one."""
    use_non_mp_sim: bool = True
    """Run SOFA in the worker's own process, with its scene in reach: forces need this. False: stEVE runs SOFA in a
    process of its own, and no force is measured."""
    normalize_action: bool = True
    """Actions in [-1, 1], as stEVE's agents are trained; false: mm/s and rad/s."""
    max_translation_mm_s: float = Field(default=35.0, gt=0, le=10_000)
    max_rotation_rad_s: float = Field(default=3.14, gt=0, le=1000)
    """What an action of 1 means."""
    dt_simulation_s: float = Field(default=0.006, gt=0, le=0.1)
    """SOFA's time step."""
    stop_at_tree_end: bool = True
    """Do not push on where the tip has come to the end of a vessel."""
    observation: Literal["steve"] = "steve"
    """As the `endovascular` suite has it, so that one config serves both."""
    environment_file: str | None = None
    """A checkpoint of eve_rl (`.everl`): the task is the one it was evaluated in, rebuilt by stEVE from the
    configuration in it."""
    environment: dict[str, Any] | None = None
    """That configuration, read from the file: stEVE's interpreter needs neither the file nor torch."""
    tracking_points: int = Field(default=3, ge=1, le=50)
    """Observed points of the wire, from the tip on."""
    tracking_resolution_mm: float = Field(default=2.0, gt=0, le=1000)
    tracking_memory: int = Field(default=2, ge=1, le=1000)
    """Pictures that the observation remembers, the newest first."""
    observed: tuple[Entry, ...] = Field(default=ENTRIES, min_length=1, strict=False)
    """The entries of the observation, in this order."""
    image_px: int = Field(default=128, ge=16, le=1024)
    """With the entry `image`: rows and columns of the picture."""

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("benchmark") is not None:
            beside = [key for key in ("anatomy", "tool") if data.get(key) not in (None, {}, _DEFAULTS.get(key))]
            if beside:
                raise ValueError(f"found {' and '.join(beside)} beside benchmark, which brings its own; leave it out")
        return data

    @model_validator(mode="after")
    def _own_entries(self) -> SteveOptions:
        if self.environment_file is not None and "image" in self.observed:
            raise ValueError("the environment of a checkpoint brings its own observation; leave image out of observed")
        return self

    @field_validator("observed")
    @classmethod
    def _observed(cls, observed: tuple[Entry, ...]) -> tuple[Entry, ...]:
        if len(set(observed)) < len(observed):
            raise ValueError("names an entry twice")
        return observed

    @field_validator("tool")
    @classmethod
    def _tool(cls, tool: str | dict[str, Any]) -> str | dict[str, Any]:
        try:
            check_tool(tool)
        except InputError as error:
            raise ValueError(str(error)) from None
        return tool


_DEFAULTS: dict[str, Any] = {}
_DEFAULTS.update(SteveOptions().model_dump(mode="json", include={"anatomy", "tool"}))
