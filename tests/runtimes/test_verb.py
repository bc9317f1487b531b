"""`proctor runtimes`: what people and programs see."""

from __future__ import annotations

import json
import shutil

import pytest
from small_wheels import TOY

from proctor.cli import doctor, probes
from proctor.runtimes import store

RECIPE = """
from proctor import RuntimeRecipe

class Toybox(RuntimeRecipe):
    "Toys, on wheels. And more."
    name = "toybox"
    packages = ("toy==1.0",)
    imports = ("toy",)
    notes = "mind the stairs"
"""


@pytest.fixture(autouse=True)
def known(plug):
    plug("toy-recipes", {"proctor.runtimes": {"toybox": "toy_recipes:Toybox"}}, {"toy_recipes": RECIPE})


def test_from_nothing_to_nothing(empty, tell):
    said = tell("runtimes", "install", "toybox")
    assert said.code == 0
    first, second, third = said.out.splitlines()
    found = store.read("toybox")
    assert found is not None
    assert first.startswith("toybox is installed, in ")
    assert first.endswith(
        f" s: Python {found.python}, 3 packages, {found.size_bytes / 1e6:.0f} MB, hash {found.hash[:12]}"
    )
    assert second == str(empty / "toybox")
    assert third == "note: mind the stairs"
    assert said.err.splitlines() == [
        f"building toybox with {found.installer} for Python {found.python} in {empty / 'toybox'}",
        "trying out toy, numpy",
    ]
    again = tell("runtimes", "install", "toybox")
    assert (again.code, again.err) == (0, "")
    assert again.out.startswith("toybox was installed already: ")

    shown = tell("runtimes", "show", "toybox").out
    assert "packages: toy==1.0\n" in shown
    assert "notes: mind the stairs\n" in shown
    assert shown.endswith((empty / "toybox" / "lock.txt").read_text())

    verified = tell("runtimes", "verify")
    assert (verified.code, verified.out) == (0, f"ok  toybox: Python {found.python}, 3 packages as in its lock\n")

    assert tell("runtimes", "remove", "toybox").out == "toybox is removed\n"
    assert tell("runtimes", "verify").out == "no runtime is installed\n"
    gone = tell("runtimes", "remove", "toybox")
    assert gone.code == 2
    assert gone.err == 'error: the runtime "toybox" is not installed; `proctor runtimes list` shows what is\n'


def test_the_list_has_recipes_and_what_became_of_them(copied, tell):
    rows = {row["name"]: row for row in json.loads(tell("runtimes", "list", "--json").out)}
    assert {"crafter", "gymnasium", "libero", "metaworld", "mjlab", "soccer", "steve", "toybox", "vla_eval"} <= set(
        rows
    )
    assert rows["crafter"]["state"] == "absent"
    assert rows["crafter"]["problems"] == []
    toybox = rows["toybox"]
    assert (toybox["state"], toybox["packages"]) == ("installed", {"toy": "1.0", "numpy": "2.0.0"})
    assert toybox["folder"] == str(copied / "toybox")
    text = tell("runtimes", "list").out
    assert any(line.split()[:2] == ["toybox", "installed"] for line in text.splitlines())
    assert text.endswith(f"folder: {copied}\n")
    found = store.read("toybox")
    assert found is not None
    shutil.rmtree(copied / "toybox" / found.site[0] / "toy-1.0.dist-info")
    text = tell("runtimes", "list").out
    assert any(line.split()[:2] == ["toybox", "changed"] for line in text.splitlines())
    assert text.splitlines()[-1].endswith("(toy 1.0 is gone); build it again with: proctor runtimes install toybox")


def test_verify_says_each_problem_and_its_command(copied, tell):
    found = store.read("toybox")
    assert found is not None
    for name in ("toy", "toy-1.0.dist-info"):
        shutil.rmtree(copied / "toybox" / found.site[0] / name)
    said = tell("runtimes", "verify", "toybox")
    assert said.code == 1
    assert len(said.out.splitlines()) == 2
    assert all(line.endswith(": proctor runtimes install toybox") for line in said.out.splitlines())
    plain = json.loads(tell("runtimes", "verify", "--json").out)
    assert (plain["name"], plain["ok"], [p["state"] for p in plain["problems"]]) == (
        "toybox",
        False,
        ["changed", "broken"],
    )
    absent = tell("runtimes", "verify", "crafter")
    assert absent.code == 1
    assert absent.out == 'the runtime "crafter" is not installed; install it with: proctor runtimes install crafter\n'


def test_a_lock_brings_its_name(copied, tell, tmp_path):
    shutil.copy(copied / "toybox" / "lock.txt", tmp_path)
    tell("runtimes", "remove", "toybox")
    said = tell("runtimes", "install", "--from-lock", tmp_path / "lock.txt", "--json", "--quiet")
    assert said.code == 0
    assert json.loads(said.out)["hash"] == store.read_lock(tmp_path / "lock.txt").hash


def test_everything_that_a_config_needs(empty, tell, tmp_path):
    config = tmp_path / "exam.yml"
    task = "{suite: gymnasium, options: {id: CartPole-v1}"
    config.write_text(
        f"agents: [{{policy: random}}]\ntasks:\n  - {task}}}\n  - {task}, runtime: toybox}}\n"
        f"  - {task}, runtime: {{packages: [toy==1.1]}}}}\n  - {task}, runtime: {{packages: [toy==1.1]}}}}\n"
    )
    said = tell("runtimes", "install", "--config", config, "--json")
    assert said.code == 0, said.err
    one, two = map(json.loads, said.out.splitlines())
    assert one["name"] == "toybox"
    assert two["name"].startswith("packages-")
    assert two["packages"]["toy"] == "1.1"
    assert tell("runtimes", "remove", two["name"]).code == 0
    config.write_text(f"agents: [{{policy: random}}]\ntasks: [{task}}}]\n")
    assert tell("runtimes", "install", "--config", config).out.startswith("nothing to install: ")


def test_wrong_words_are_bad_input(empty, tell):
    said = tell("runtimes", "install")
    assert (said.code, said.err.startswith("error: found no NAME; expected a recipe")) == (2, True)
    said = tell("runtimes", "install", "toybx")
    assert (said.code, 'did you mean "toybox"?' in said.err) == (2, True)
    said = tell("runtimes", "install", "toybox", "--option", "sofa")
    assert (said.code, said.err) == (2, 'error: found --option "sofa"; expected NAME=PATH\n')
    said = tell("runtimes", "show", "../x")
    assert (said.code, "is no name of a runtime" in said.err) == (2, True)


def test_the_doctor_knows_runtimes(copied, monkeypatch):
    checks = {check.name: check for check in probes.runtimes()}
    assert checks["toybox"].ok
    assert checks["toybox"].detail.startswith("Python 3.")
    (copied / "toybox" / "runtime.json").unlink()
    (check,) = probes.runtimes()
    assert not check.ok
    assert check.fix == "proctor runtimes install toybox"
    assert "half    " not in doctor.as_text({"runtimes": [check]})


def test_a_suite_that_lives_in_a_runtime_is_well(copied, monkeypatch):
    import importlib.util

    (copied / "toybox").rename(copied / "crafter")
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "crafter" else real(name))
    crafter = next(check for check in probes.suites() if check.name == "crafter")
    assert (crafter.ok, crafter.detail) == (True, "needs crafter, and runs in its runtime")
    shutil.rmtree(copied / "crafter")
    crafter = next(check for check in probes.suites() if check.name == "crafter")
    assert (crafter.ok, crafter.fix) == (False, 'pip install "proctor[crafter]" or proctor runtimes install crafter')


def test_the_specification_is_the_recipe_s():
    from proctor.runtimes import specify

    assert specify("toybox").packages == TOY.packages


def test_a_recipe_that_has_changed_since_is_noted_and_one_that_is_gone_is_shown(copied, tell, plug, monkeypatch):
    import toy_recipes

    monkeypatch.setattr(toy_recipes.Toybox, "packages", ("toy==1.1",))
    said = tell("runtimes", "verify", "toybox")
    assert said.code == 0
    assert said.out.splitlines()[1] == (
        "note: the recipe of toybox has changed since it was installed; renew it with: proctor runtimes install toybox"
    )
    (copied / "toybox").rename(copied / "chest")
    shown = tell("runtimes", "show", "chest").out
    assert shown.startswith("recipe: as it was when it was installed\n")
    assert "packages: toy==1.0, numpy\n" in shown
