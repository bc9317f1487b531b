"""Building runtimes: what is there afterwards, what is never there, and what the user is told."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from small_wheels import TOY

from proctor.errors import InputError, RunError
from proctor.interpreters import command
from proctor.runtimes import store
from proctor.runtimes.install import Hear, Wishes, install, remove
from proctor.runtimes.recipes import RuntimeSpecification, complete
from proctor.runtimes.verify import problems_of

SILENT = Hear(lambda text: None, lambda text: None)


def test_what_is_installed_is_written_down_exactly(toybox, monkeypatch):
    monkeypatch.setenv("PROCTOR_RUNTIMES", str(toybox))
    found = store.read("toybox")
    assert found is not None
    assert dict(found.packages) == {"numpy": "2.0.0", "toy": "1.0", "toy-parts": "3.0"}
    assert found.python == sys.version.split()[0]
    assert found.hash == store.digest(found.python, "cpython", found.packages)
    assert found.specification == TOY
    assert found.interpreter.exists()
    assert found.size_bytes == store.size_of(found.folder / found.environment)
    assert (found.folder / "lock.txt").read_text().splitlines() == [
        "# runtime toybox",
        f"# cpython {found.python}",
        f"# hash {found.hash}",
        "numpy==2.0.0",
        "toy==1.0",
        "toy-parts==3.0",
    ]
    assert "toy==1.0" in (found.folder / "install.log").read_text()


def test_the_scripts_of_a_runtime_know_where_they_are(toybox, monkeypatch):
    monkeypatch.setenv("PROCTOR_RUNTIMES", str(toybox))
    found = store.read("toybox")
    assert found is not None
    scripts = [p for p in found.interpreter.parent.iterdir() if p.is_file() and not p.is_symlink()]
    heads = [p.read_bytes().splitlines()[0].decode() for p in scripts if p.read_bytes().startswith(b"#!")]
    assert all(str(found.folder) in head for head in heads)


def test_the_hash_is_of_versions_alone():
    one = store.digest("3.10.13", "cpython", {"a": "1", "b": "2"})
    assert one == store.digest("3.10.13", "cpython", {"b": "2", "a": "1"})
    others = [("3.10.14", "cpython", {"a": "1", "b": "2"}), ("3.10.13", "pypy", {"a": "1", "b": "2"})]
    others += [("3.10.13", "cpython", {"a": "1"}), ("3.10.13", "cpython", {"a": "1", "b": "3"})]
    assert len({one, *(store.digest(*other) for other in others)}) == 5


def test_an_installation_that_is_in_order_is_left_alone(copied):
    before = store.read("toybox")
    after, built = install(TOY, Wishes(), SILENT)
    assert (after, built) == (before, False)


def test_another_specification_is_built_anew_and_takes_the_place_of_the_old_one(copied):
    before = store.read("toybox")
    changed = complete(RuntimeSpecification("toybox", ("toy==1.1",), imports=("toy",)))
    after, built = install(changed, Wishes(), SILENT)
    assert built
    assert before is not None
    assert after.packages["toy"] == "1.1"
    assert not (after.folder / before.environment).exists()
    assert problems_of("toybox", thorough=True) == (after, [])


def test_a_lock_is_installed_to_the_version(copied, tmp_path):
    lock = store.read_lock(copied / "toybox" / "lock.txt")
    newer = complete(RuntimeSpecification("toybox", ("toy>=1.0",), imports=("toy",)))
    found, _ = install(newer, Wishes(lock=lock, again=True), SILENT)
    assert dict(found.packages) == dict(lock.packages)
    assert found.hash == lock.hash


def test_what_is_no_lock_is_refused(tmp_path):
    file = tmp_path / "lock.txt"
    file.write_text("toy==1.0\n--index-url=somewhere\n")
    with pytest.raises(InputError, match=r'says "--index-url=somewhere"; expected name==version'):
        store.read_lock(file)
    with pytest.raises(InputError, match="cannot be read"):
        store.read_lock(tmp_path / "none.txt")


def test_a_package_that_nobody_has_is_said_in_the_installer_s_words(empty, build):
    with pytest.raises(RunError) as caught:
        build("wanting", "no-such-toy>=2")
    said = str(caught.value)
    assert said.startswith('the packages of the runtime "wanting" cannot be installed: ')
    assert "no-such-toy" in said
    assert f"the whole log is {empty / 'wanting' / 'install.log'}" in said
    assert [p.name for p in (empty / "wanting").iterdir()] == ["install.log"]
    assert problems_of("wanting")[1][0].state == "absent"


@pytest.mark.parametrize(
    ("package", "system", "sentence"),
    [
        ("toy_raises", {}, 'the runtime "bad" cannot import "toy_raises" (RuntimeError: no display here)'),
        (
            "toy_crashes",
            {},
            'the Python of the runtime "bad" died while it imported "toy_crashes" (it was ended by SIGSEGV)',
        ),
        (
            "toy_unlinked",
            {},
            'the runtime "bad" cannot import "toy_unlinked" without the system library libtoybox.so.7, which this '
            "machine lacks; find the package that has it with: apt-file search libtoybox.so.7",
        ),
        (
            "toy_unlinked",
            {"libtoybox.so.7": "libtoybox7"},
            'the runtime "bad" needs the system library libtoybox.so.7, which this machine lacks; install it with: '
            "apt-get install libtoybox7",
        ),
    ],
)
def test_what_does_not_work_is_not_installed(empty, build, package, system, sentence):
    with pytest.raises(RunError) as caught:
        build("bad", package, imports=(package,), system=system)
    assert str(caught.value).startswith(f"{sentence}. Nothing was installed; the whole log is ")
    assert store.read("bad") is None
    assert store.unfinished("bad") == []


def test_a_failed_attempt_leaves_what_was_there(copied, build):
    before = store.read("toybox")
    with pytest.raises(RunError):
        build("toybox", "toy_raises", imports=("toy_raises",))
    assert store.read("toybox") == before
    assert problems_of("toybox", thorough=True) == (before, [])


def test_a_wrong_version_of_python_is_refused_with_what_was_looked_at(empty):
    too_new = complete(RuntimeSpecification("future", ("toy",), "3.99"))
    with pytest.raises(InputError) as caught:
        install(too_new, Wishes(), SILENT)
    said = str(caught.value)
    assert said.startswith("Python 3.99 is needed and was not found: this interpreter, python3.X on PATH and pyenv's")
    assert f"{sys.executable} ({sys.version.split()[0]})" in said
    with pytest.raises(
        InputError, match=rf"{sys.executable} is Python 3\.\S+, and Python 3.99 is needed; name another"
    ):
        install(too_new, Wishes(python=sys.executable), SILENT)
    assert not (empty / "future").exists()


def test_an_interpreter_that_is_none_is_refused(empty, tmp_path):
    text = tmp_path / "python"
    text.write_text("hello")
    with pytest.raises(InputError, match=r"cannot be started as an interpreter of Python: Permission denied"):
        install(TOY, Wishes(python=str(text)), SILENT)
    text.write_text("#!/bin/sh\necho no such version >&2; exit 127\n")
    text.chmod(0o755)
    with pytest.raises(InputError, match="interpreter of Python: it ended with code 127: no such version"):
        install(TOY, Wishes(python=str(text)), SILENT)


def test_a_command_on_the_path_that_does_not_start_is_passed_over(empty, tmp_path, monkeypatch):
    """As the shims of pyenv are for versions that are not chosen."""
    from proctor.runtimes.asking import find_interpreter

    shim = tmp_path / "python3.11"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "none"))
    assert find_interpreter(">=3.8").path == sys.executable
    wanted = "3.11" if sys.version_info[:2] != (3, 11) else "==3.11.59"
    with pytest.raises(InputError, match=rf"{shim} \(does not start\)"):
        find_interpreter(wanted)


def script(name: str, *packages: str) -> list[str]:
    code = f"""
    from proctor.runtimes.install import *
    from proctor.runtimes.recipes import *
    say = lambda text: print(text, flush=True)
    specification = complete(RuntimeSpecification({name!r}, {packages!r}, imports=("toy",)))
    print(install(specification, Wishes(), Hear(say, say)))
    """
    return command(textwrap.dedent(code))


def started_until(lines: int) -> subprocess.Popen[str]:
    """An installation that has said so many lines: first that it builds, then what the installer says."""
    code = script("toybox", "toy==1.0")
    process = subprocess.Popen(code, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    for _ in range(lines):
        assert process.stdout.readline()
    process.stdout.close()
    return process


def test_an_installation_that_is_killed_leaves_nothing_half_used(empty, shelf):
    """Killed at several moments, also while pip runs; what follows waits for what pip still does, and then builds."""
    for moment in (1, 2, 4):
        process = started_until(moment)
        process.kill()
        process.wait()
        installed, problems = problems_of("toybox")
        assert installed is None
        assert problems[0].state in ("half installed", "absent")
        assert problems[0].command == "proctor runtimes install toybox"
    assert store.unfinished("toybox")
    found, built = install(TOY, Wishes(), SILENT)
    assert built
    assert store.unfinished("toybox", found.environment) == []
    assert problems_of("toybox", thorough=True) == (found, [])


def test_an_installation_that_is_interrupted_cleans_up(empty):
    process = started_until(2)
    process.send_signal(signal.SIGINT)
    process.wait()
    assert store.unfinished("toybox") == []
    assert problems_of("toybox")[1][0].state == "absent"


def test_two_at_once_build_it_once(empty):
    both = [subprocess.Popen(script("toybox", "toy==1.0"), stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    ends = sorted(text.splitlines()[-1].endswith("True)") for text in said)
    assert ends == [False, True]


def test_while_somebody_installs_others_are_told(empty):
    (empty / "toybox").mkdir(parents=True)
    with store.held("toybox", lambda text: None):
        problem = problems_of("toybox")[1][0]
        assert str(problem) == (
            'the runtime "toybox" is being installed right now; wait for it with: proctor runtimes install toybox'
        )
    assert problems_of("toybox")[1][0].state == "absent"


def test_removed_is_gone(copied):
    assert remove("toybox", SILENT)
    assert not (copied / "toybox").exists()
    assert os.listdir(copied) == [".toybox.lock"]
    assert store.names() == []
    assert not remove("toybox", SILENT)


def test_a_folder_that_cannot_be_written_to_says_what_to_set(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PROCTOR_RUNTIMES", str(tmp_path / "file" / "runtimes"))
    with pytest.raises(InputError, match="set PROCTOR_RUNTIMES to a folder that can be written to"):
        install(TOY, Wishes(), SILENT)


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not on PATH")
def test_uv_builds_the_same_as_pip(empty, monkeypatch):
    with_uv, _ = install(TOY, Wishes(), SILENT)
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "uv" else real(name))
    with_pip, _ = install(TOY, Wishes(again=True), SILENT)
    assert (with_uv.installer, with_pip.installer) == ("uv", "pip")
    assert with_uv.hash == with_pip.hash


def test_folders_follow_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("PROCTOR_RUNTIMES", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert store.folder() == tmp_path / "proctor" / "runtimes"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert store.folder() == Path("~/.cache/proctor/runtimes").expanduser()
    for name in ("../x", "", ".hidden", "a/b", "a b"):
        with pytest.raises(InputError, match="is no name of a runtime"):
            store.folder_of(name)
