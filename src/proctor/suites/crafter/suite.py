"""The `crafter` suite, and its options as data."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, field_validator

from proctor.suites.crafter.names import ITEMS, MOST_OF_AN_ITEM, TILES
from proctor.suites.crafter.tasks import INSTRUCTIONS, KIT, TaskName, told
from proctor.suites.protocol import Suite, SuiteOptions


class CrafterOptions(SuiteOptions):
    """One task of the suite."""

    task: TaskName = "collect_wood"
    """The achievement that is success."""
    wording: int = Field(default=0, ge=0, le=4)
    """Which of the task's five instructions is given."""
    instruction: str | None = Field(default=None, min_length=1)
    """Other words of your own; they change what the agent is told, not what success is."""
    start: dict[str, int] = Field(default_factory=lambda: dict(KIT))
    """What the player has at the start; items that are not named are as Crafter has them."""
    area: int = Field(default=64, ge=24, le=256)
    """Side of the square world, in cells."""
    image: bool = True
    """Adds the observation `image`. Drawing it is most of a step's time."""
    image_size: int = Field(default=63, ge=TILES, le=1008)
    """Side of the picture in pixels, a multiple of 9 (a tile each)."""
    privileged: bool = False
    """Adds the observation group `privileged`: the whole map, for scripted agents."""

    @property
    def told(self) -> str:
        """What the agent is told."""
        return told(self)

    @field_validator("image_size")
    @classmethod
    def _whole_tiles(cls, size: int) -> int:
        if size % TILES:
            raise ValueError(f"found {size}; expected a multiple of {TILES}, such as {size // TILES * TILES or TILES}")
        return size

    @field_validator("start")
    @classmethod
    def _known_items(cls, start: dict[str, int]) -> dict[str, int]:
        unknown = [name for name in start if name not in ITEMS]
        if unknown:
            raise ValueError(f"found {', '.join(unknown)}; expected some of {', '.join(ITEMS)}")
        wrong = [f"{name}: {count}" for name, count in start.items() if not 0 <= count <= MOST_OF_AN_ITEM]
        if wrong:
            raise ValueError(f"found {', '.join(wrong)}; expected 0 to {MOST_OF_AN_ITEM} of an item")
        if start.get("health") == 0:
            raise ValueError("found health: 0, a player who is dead; expected 1 to 9")
        return start


class CrafterSuite(Suite):
    """An instruction to follow in Crafter's open world."""

    name: ClassVar[str] = "crafter"
    seeds_matter: ClassVar[bool] = True
    Options: ClassVar[type[SuiteOptions]] = CrafterOptions
    environment: ClassVar[str | None] = "proctor.suites.crafter.env:make"
    runtime: ClassVar[str | None] = "crafter"

    def task_name(self, options: CrafterOptions) -> str:
        """Such as `collect_wood`."""
        return options.task

    def begins_by_seed(self, options: CrafterOptions) -> bool:
        return True

    def briefing(self, options: CrafterOptions) -> dict[str, Any]:
        """`instruction`: what the agent is told; `paraphrases`: all five ways to say it."""
        return {"instruction": options.told, "paraphrases": list(INSTRUCTIONS[options.task])}

    def needs(self) -> list[tuple[str, str]]:
        return [("crafter", "crafter")]
