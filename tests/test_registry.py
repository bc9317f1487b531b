"""One registry for every kind of part: names, origins, and what is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proctor.errors import InputError
from proctor.registry import KINDS, LOADERS, METRICS, SCORINGS, SUITES, Part, Registry

METRIC = """
from proctor import Metric

class Laps(Metric):
    "How many laps."
    name, unit, direction = "laps", "1", "up"

    def __call__(self, episode):
        return 1.0
"""


def test_a_plug_in_s_part_is_found_by_name_with_its_origin(plug):
    plug("racing", {"proctor.metrics": {"laps": "racing_parts:Laps"}}, {"racing_parts": METRIC})
    assert "laps" in METRICS
    assert METRICS.part("laps") == Part("metric", "laps", "racing_parts:Laps", "racing 1.2")
    assert METRICS.load("laps").__doc__ == "How many laps."
    assert METRICS.refused() == {}


def test_proctor_s_own_parts_say_so():
    assert {part.origin for registry in KINDS for part in registry.parts() if part.target.startswith("proctor.")} == {
        "proctor"
    }


def test_a_plug_in_that_shadows_a_built_in_name_is_refused_by_name(plug):
    plug("racing", {"proctor.scorings": {"success": "racing_parts:Mine"}})
    with pytest.raises(InputError) as caught:
        SCORINGS.load("success")
    expected = (
        'the scoring "success" of racing 1.2 (racing_parts:Mine) has the name of a part of Proctor and is refused; '
        "uninstall or rename it"
    )
    assert str(caught.value) == expected
    assert SCORINGS.refused() == {"success": expected}
    assert SCORINGS.load("return").name == "return", "other names are as before"


def test_a_name_that_two_plug_ins_claim_is_refused_for_both(plug):
    plug("racing", {"proctor.suites": {"track": "racing_parts:Track"}})
    plug("railway", {"proctor.suites": {"track": "railway_parts:Track"}})
    with pytest.raises(InputError) as caught:
        SUITES.part("track")
    assert str(caught.value) == (
        'the suite "track" comes from racing 1.2 (racing_parts:Track) and railway 1.2 (railway_parts:Track), so both '
        "are refused; uninstall one of them"
    )


def test_one_name_in_two_kinds_is_no_conflict(plug):
    plug("racing", {"proctor.suites": {"success": "racing_parts:Track"}})
    assert SUITES.part("success").origin == "racing 1.2"
    assert SCORINGS.part("success").origin == "proctor"


def test_an_unknown_name_suggests_the_nearest(plug):
    plug("racing", {"proctor.suites": {"racetrack": "racing_parts:Track"}})
    with pytest.raises(InputError, match=r'unknown suite "racetrak"; did you mean "racetrack"\? \(known: crafter, '):
        SUITES.part("racetrak")
    with pytest.raises(InputError, match=r'unknown policy loader "qqqq" \(known: '):
        LOADERS.load("qqqq")


def test_a_part_of_the_wrong_class_says_so(plug):
    plug("racing", {"proctor.suites": {"laps": "racing_parts:Laps"}}, {"racing_parts": METRIC})
    with pytest.raises(InputError) as caught:
        SUITES.load("laps")
    assert str(caught.value) == (
        "the suite \"laps\" (from racing 1.2) is <class 'racing_parts.Laps'>; expected a subclass of proctor.Suite"
    )


def test_a_part_whose_module_is_gone_is_named(plug):
    plug("racing", {"proctor.suites": {"track": "racing_parts_that_are_gone:Track"}})
    with pytest.raises(InputError, match='no module "racing_parts_that_are_gone"'):
        SUITES.load("track")


def test_an_import_string_is_not_looked_up(tmp_path):
    (tmp_path / "mine.py").write_text(METRIC)
    assert METRICS.find("mine.py:Laps", tmp_path).name == "laps"


def test_a_registry_may_have_parts_of_its_own():
    registry = Registry("thing", "proctor.things", None, {"one": "json:dumps"})
    assert registry.names() == ["one"]
    assert registry.find("one")(1) == "1"


def test_names_and_origins_are_found_without_importing_a_part():
    """Neither a part's module nor a contract's is imported, so that a plug-in cannot break a list."""
    code = (
        "import sys; from proctor.registry import KINDS\n"
        "parts = [part for kind in KINDS for part in kind.parts()]; refused = [kind.refused() for kind in KINDS]\n"
        "modules = {part.target.partition(':')[0] for part in parts} | {k.contract.partition(':')[0] for k in KINDS}\n"
        "assert len(parts) > 50\n"
        "print(sorted(modules & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize("registry", KINDS, ids=lambda registry: registry.kind)
def test_every_built_in_part_fulfils_its_contract_under_its_own_name(registry):
    assert registry.builtin, f"Proctor brings no {registry.kind}"
    for name in registry.builtin:
        part = registry.load(name)
        assert vars(part).get("name", name) == name
        assert (part.__doc__ or "").strip(), f"{name} has no sentence for `proctor list`"
