"""The laws of a recipe."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import ClassVar

from proctor.config.runtime import is_constraint
from proctor.runtimes.recipes import RuntimeRecipe, RuntimeSpecification
from proctor.testing.common import Conformance, check_part, without_error

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class RuntimeRecipeConformance(Conformance[RuntimeRecipe]):
    """Subclass, name it `Test...`, and write `make`; `options` are those of an installation to try, where the recipe
    has any. Nothing is installed."""

    options: ClassVar[Mapping[str, str]] = {}

    def test_declares_itself(self) -> None:
        recipe = self.make()
        check_part(recipe, RuntimeRecipe, "name", "__doc__")
        fits = NAME.fullmatch(recipe.name)
        assert fits, f"name is {recipe.name!r}; expected letters, digits, dots, hyphens: it becomes a folder"

    def test_its_options_are_explained(self) -> None:
        recipe = self.make()
        for option, meaning in recipe.options.items():
            assert meaning, f'the option "{option}" has no explanation'
        unknown = sorted(set(recipe.options) ^ set(self.options))
        assert not unknown, f"set `options` to a value for each of the recipe's; these differ: {', '.join(unknown)}"

    def test_specifies_what_can_be_installed(self) -> None:
        found = self._specified()
        for requirement in found.packages:
            plain = isinstance(requirement, str) and requirement.strip() and not requirement.startswith("-")
            assert plain, f"packages has {requirement!r}; expected requirements such as 'numpy>=2'"
        assert is_constraint(found.python), f"python is {found.python!r}; expected a version such as '3.10' or '>=3.8'"
        for module in found.imports:
            named = all(part.isidentifier() for part in module.split("."))
            assert named, f"imports has {module!r}; expected a module's name"
        for library in found.system:
            assert ".so" in library, f"system has {library!r}; expected a library's file, such as libEGL.so.1"

    def test_is_plain_data(self) -> None:
        found = self._specified()
        again = RuntimeSpecification.from_dict(json.loads(json.dumps(found.as_dict())))
        assert again == found, f"the specification comes back from JSON as {again!r}; expected {found!r}"

    def test_the_same_choice_gives_the_same_specification(self) -> None:
        assert self._specified() == self._specified(), "two specifications of the same options differ"

    def test_a_version_that_is_chosen_is_in_the_name_and_the_packages(self) -> None:
        recipe = self.make()
        if recipe.versioned is not None:
            found = recipe.specify("1.2.3", dict(self.options))
            assert found.name == f"{recipe.name}@1.2.3", f"version 1.2.3 is named {found.name!r}"
            wanted = f"{recipe.versioned}==1.2.3"
            assert wanted in found.packages, f"packages of version 1.2.3 are {found.packages}, without {wanted}"

    def _specified(self) -> RuntimeSpecification:
        recipe = self.make()
        with without_error(f"specify(None, {dict(self.options)})"):
            found = recipe.specify(None, dict(self.options))
        assert isinstance(found, RuntimeSpecification), f"specify gave a {type(found).__name__}"
        assert found.name == recipe.name, f'specify gave the name "{found.name}"; expected "{recipe.name}"'
        return found
