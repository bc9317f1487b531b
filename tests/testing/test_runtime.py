"""Each law of RuntimeRecipeConformance finds what breaks it; every recipe of Proctor's keeps them."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from proctor import RuntimeRecipe, RuntimeSpecification
from proctor.registry import RUNTIMES
from proctor.testing import RuntimeRecipeConformance


class Harbour(RuntimeRecipe):
    """Boats, on a simulator of their own."""

    name = "harbour"
    packages = ("boats>=2",)
    imports = ("boats",)
    versioned = "boats"


class TestHarbour(RuntimeRecipeConformance):
    def make(self):
        return Harbour()


@pytest.mark.parametrize("name", [name for name in RUNTIMES.names() if not RUNTIMES.load(name).options])
def test_proctor_s_own_keep_every_law(name):
    laws = type("Laws", (RuntimeRecipeConformance,), {"make": lambda self: RUNTIMES.load(name)()})()
    for law in (law for law in dir(laws) if law.startswith("test_")):
        getattr(laws, law)()


def broken(**attributes: Any) -> RuntimeRecipeConformance:
    recipe = type("Recipe", (Harbour,), {"__doc__": "Boats.", **attributes})
    return type("Laws", (RuntimeRecipeConformance,), {"make": lambda self: recipe()})()


class Unsteady(Harbour):
    """Boats."""

    count: ClassVar[int] = 0

    def specify(self, version, options):
        type(self).count += 1
        return RuntimeSpecification("harbour", (f"boats=={self.count}",))


@pytest.mark.parametrize(
    ("laws", "law", "said"),
    [
        (broken(name="a/b"), "test_declares_itself", "it becomes a folder"),
        (broken(name=""), "test_declares_itself", "name is empty"),
        (broken(__doc__=None), "test_declares_itself", "__doc__ is missing"),
        (broken(options={"dock": "where"}), "test_its_options_are_explained", "these differ: dock"),
        (broken(options={"dock": ""}), "test_its_options_are_explained", 'the option "dock" has no explanation'),
        (broken(packages=("--index-url=x",)), "test_specifies_what_can_be_installed", "expected requirements such as"),
        (broken(python="newest"), "test_specifies_what_can_be_installed", "expected a version such as '3.10'"),
        (broken(imports=("boats-2",)), "test_specifies_what_can_be_installed", "expected a module's name"),
        (broken(system={"EGL": "libegl1"}), "test_specifies_what_can_be_installed", "such as libEGL.so.1"),
        (broken(system={"libEGL.so.1": ("libegl1",)}), "test_is_plain_data", "comes back from JSON as"),
        (broken(specify=Unsteady.specify, count=0), "test_the_same_choice_gives_the_same_specification", "differ"),
        (
            broken(specify=lambda self, version, options: RuntimeSpecification("harbour", ())),
            "test_a_version_that_is_chosen_is_in_the_name_and_the_packages",
            "version 1.2.3 is named 'harbour'",
        ),
    ],
)
def test_what_breaks_a_law_is_said(laws, law, said):
    with pytest.raises(AssertionError) as caught:
        getattr(laws, law)()
    assert said in str(caught.value)
