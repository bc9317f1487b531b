"""From a config to an interpreter: given by path, by packages, or not at all."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from proctor import config_from_dict
from proctor.config.models import RuntimeCfg
from proctor.errors import InputError
from proctor.registry import RUNTIMES, SUITES
from proctor.runtimes import locate, locating, needed_for, specify
from proctor.runtimes.install import Hear, Wishes, install
from proctor.runtimes.recipes import described

SILENT = Hear(lambda text: None, lambda text: None)


@pytest.fixture(autouse=True)
def forgotten():
    locating._given.cache_clear()


def test_an_installed_runtime_has_an_interpreter_and_an_identity(toybox, monkeypatch):
    monkeypatch.setenv("PROCTOR_RUNTIMES", str(toybox))
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    there = locate(RuntimeCfg(name="toybox"))
    assert sorted(there.identity) == ["hash", "implementation", "packages", "python"]
    assert there.identity["packages"] == {"numpy": "2.0.0", "toy": "1.0", "toy-parts": "3.0"}
    code = "import sys, toy; print(sys.prefix, toy.VERSION)"
    done = subprocess.run(
        [there.python, "-c", code], env=there.environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == f"{there.python.parents[1]} 1.0"
    assert "PYTHONPATH" not in there.environment()


def test_an_interpreter_given_by_its_path_is_asked_once(monkeypatch):
    cfg = RuntimeCfg(python=sys.executable)
    there = locate(cfg)
    assert there.python == Path(sys.executable), "the link of a virtual environment is not followed"
    assert there.identity["python"] == sys.version.split()[0]
    assert there.identity["packages"]["numpy"]
    monkeypatch.setattr(locating, "ask", lambda *arguments: pytest.fail("an interpreter was started"))
    assert locate(cfg) is there


def test_an_interpreter_given_by_its_path_that_cannot_be_used(tmp_path, toybox):
    path = tmp_path / "python"
    cfg = RuntimeCfg(python=str(path))

    def said() -> str:
        with pytest.raises(InputError) as caught:
            locate(cfg)
        return str(caught.value)

    assert said() == f"there is no interpreter {path}; write runtime: {{python: PATH}} with one that is there"
    path.write_text("#!/bin/sh\nexit 3\n")
    assert said() == f"the interpreter {path} cannot be started (Permission denied); try it with: {path} --version"
    path.chmod(0o755)
    assert said() == f"the interpreter {path} cannot be started (it ended with code 3); try it with: {path} --version"
    path.write_text("""#!/bin/sh\necho '["python", {"version": "3.7.16", "implementation": "cpython"}]'\n""")
    assert said() == (
        f"the interpreter {path} is Python 3.7.16, and Python >=3.8 is needed; name another one with: "
        "runtime: {python: PATH}"
    )


def test_an_interpreter_without_numpy_says_how_to_get_it(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    python = tmp_path / "bare" / "bin" / "python"
    with pytest.raises(InputError) as caught:
        locate(RuntimeCfg(python=str(python)))
    assert str(caught.value) == (
        f"the interpreter {python} cannot import \"numpy\" (ModuleNotFoundError: No module named 'numpy'); "
        f"mend it with: {python} -m pip install numpy"
    )


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7"])
def test_a_real_interpreter_that_is_too_old_says_what_it_is(version):
    root = Path(os.environ.get("PYENV_ROOT") or Path("~/.pyenv").expanduser()) / "versions"
    found = sorted(root.glob(f"{version}.*/bin/python"))
    if not found:
        pytest.skip(f"there is no Python {version} here")
    with pytest.raises(InputError, match=rf"is Python {version}\.\d+, and Python >=3.8 is needed"):
        locate(RuntimeCfg(python=str(found[0])))


def test_packages_in_a_config_are_a_runtime_without_a_name(empty):
    cfg = RuntimeCfg(packages=("toy==1.0",))
    name = described(cfg).name
    with pytest.raises(InputError) as caught:
        locate(cfg, "exam.yml")
    assert str(caught.value) == (
        f'the runtime "{name}" is not installed; install it with: proctor runtimes install --config exam.yml'
    )
    install(described(cfg), Wishes(), SILENT)
    assert locate(cfg).identity["packages"]["toy"] == "1.0"


def test_the_name_of_packages_is_that_of_what_is_meant():
    one = described(RuntimeCfg(packages=("a", "b"), python="3.10"))
    assert one.name == described(RuntimeCfg(packages=("b", "a"), python="3.10")).name
    assert one.name != described(RuntimeCfg(packages=("a", "b"))).name
    assert one.python == "3.10"
    assert one.packages == ("a", "b", "numpy")


def suite(runtime: str | None, *needs: str) -> Any:
    return SimpleNamespace(runtime=runtime, needs=lambda: [(package, "extra") for package in needs])


def test_a_folder_of_a_package_s_name_is_not_the_package(tmp_path, monkeypatch):
    (tmp_path / "lerobot_of_mine").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    needs = [("lerobot_of_mine", "lerobot")]
    assert locating.chosen(None, "lerobot", needs) == RuntimeCfg(name="lerobot")
    (tmp_path / "lerobot_of_mine" / "__init__.py").touch()
    importlib.invalidate_caches()
    assert locating.chosen(None, "lerobot", needs) is None


def test_a_suite_whose_packages_are_not_here_uses_its_recipe():
    config = config_from_dict({"agents": [{"policy": "random"}], "tasks": ["CartPole-v1"]})
    (task,) = config.tasks
    assert needed_for(task, suite("crafter", "json", "numpy")) is None
    assert needed_for(task, suite("crafter", "json", "no_such_package_here")) == RuntimeCfg(name="crafter")
    assert needed_for(task, suite(None, "no_such_package_here")) is None
    given = task.model_copy(update={"runtime": RuntimeCfg(name="soccer")})
    assert needed_for(given, suite("crafter", "json")) == RuntimeCfg(name="soccer")


@pytest.mark.parametrize("name", SUITES.names())
def test_every_suite_s_recipe_exists_and_imports_what_the_suite_needs(name):
    found = SUITES.load(name)()
    if found.runtime is not None:
        recipe = RUNTIMES.load(found.runtime)
        assert {package for package, _ in found.needs()} <= set(recipe.imports)


def test_a_version_is_chosen_with_the_name():
    found = specify("gymnasium@1.4.0")
    assert found.name == "gymnasium@1.4.0"
    assert "gymnasium==1.4.0" in found.packages
    assert specify("gymnasium==1.4.0") == found
    with pytest.raises(InputError, match='the recipe "crafter" leaves no version open; write crafter'):
        specify("crafter@1.0")
    with pytest.raises(InputError, match='unknown runtime recipe "crafer"; did you mean "crafter"'):
        specify("crafer")


def test_options_of_a_recipe_are_asked_for(tmp_path):
    with pytest.raises(InputError) as caught:
        specify("steve")
    assert str(caught.value) == (
        'the recipe "steve" needs the option "sofa", the folder of SOFA\'s installation (with SofaPython3 and '
        "BeamAdapter); give it with: proctor runtimes install steve --option sofa=PATH"
    )
    with pytest.raises(InputError, match=r'the recipe "crafter" has no option "sofa" \(it has none\)'):
        specify("crafter", {"sofa": "x"})
    with pytest.raises(InputError, match="is no installation of SOFA with SofaPython3: there is no folder"):
        specify("steve", {"sofa": str(tmp_path), "steve": str(tmp_path)})
    bindings = tmp_path / "plugins/SofaPython3/lib/python3/site-packages/Sofa"
    bindings.mkdir(parents=True)
    (bindings / "Core.cpython-310-x86_64-linux-gnu.so").write_text("")
    with pytest.raises(InputError, match="is no checkout of stEVE"):
        specify("steve", {"sofa": str(tmp_path), "steve": str(tmp_path)})
    (tmp_path / "pyproject.toml").write_text("")
    found = specify("steve", {"sofa": str(tmp_path), "steve": str(tmp_path)})
    assert found.python == "3.10"
    assert found.path == (str(bindings.parent),)
    assert found.variables == {"SOFA_ROOT": str(tmp_path)}
    assert found.packages == (str(tmp_path), "numpy")


def test_finding_out_imports_nothing():
    assert importlib.util.find_spec("no_such_package_here") is None
    code = (
        "import sys\nfrom proctor.runtimes import locate, needed_for\n"
        "print(*sorted({'gymnasium', 'mujoco', 'torch', 'rich', 'proctor.rollout'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
