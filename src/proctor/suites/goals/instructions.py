"""What a task asks for in words, and in how many ways it can be said.

A suite tells it in its briefing: a mapping with `instruction` (text) and, optionally, `paraphrases` (texts that mean
the same). A config may give both itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.errors import InputError


@dataclass(frozen=True)
class Instruction:
    """`paraphrases` are further wordings of `text`."""

    text: str
    paraphrases: tuple[str, ...] = ()

    @property
    def wordings(self) -> tuple[str, ...]:
        """Every different wording, the instruction itself first."""
        return tuple(dict.fromkeys((self.text, *self.paraphrases)))


def read_instruction(given: Any, where: str) -> Instruction:
    """From a text, or from a mapping with `instruction` and `paraphrases`. Raises InputError for anything else."""
    data = {"instruction": given} if isinstance(given, str) else given
    if not isinstance(data, Mapping) or "instruction" not in data:
        found = "nothing" if given is None else f"a {type(given).__name__}"
        raise InputError(
            f"{where} tells no instruction (found {found}); a suite gives a mapping with `instruction` and "
            "`paraphrases` in its briefing, or name it in the config: instructions: {TASK: chop a tree}"
        )
    text, paraphrases = data["instruction"], data.get("paraphrases", ())
    for wording in (text, *paraphrases):
        if not isinstance(wording, str) or not wording.strip():
            raise InputError(f"{where}: found {wording!r} as an instruction; expected a text that is not empty")
    return Instruction(text, tuple(paraphrases))


def instructions_for(tasks: Mapping[str, Any], given: Mapping[str, Any], where: str) -> dict[str, Instruction]:
    """By task: what is given (`where` it is, for errors), else what the briefing (called only then) tells. `tasks`:
    name -> briefing, as in SpaceInfo."""
    return {
        name: read_instruction(given[name], f'{where}, task "{name}"')
        if name in given
        else read_instruction(None if briefing is None else briefing(), f'task "{name}"')
        for name, briefing in tasks.items()
    }
