"""Agents that come with a suite, under short names: `tracking/mirror` for an import string that nobody wants to
remember."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, create_model

from proctor.policies.from_python import PythonLoader
from proctor.policies.options import PythonOptions


class ScriptedLoader(PythonLoader):
    """The `python` loader with its target decided. A subclass says `name` and `target`, the import string of a Policy,
    which is imported when an agent is loaded."""

    target: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        target = (str, Field(default=cls.target, pattern=f"^{cls.target}$"))
        cls.Options = create_model(f"{cls.__name__}Options", __base__=PythonOptions, target=target)
