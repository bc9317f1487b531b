"""Every bad state of a runtime, made for real: its sentence and its command."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from small_wheels import TOY

from proctor.config.models import RuntimeCfg
from proctor.errors import InputError
from proctor.runtimes import asking, locate, store, verify
from proctor.runtimes.install import Hear, Wishes, install
from proctor.runtimes.verify import problems_of

AGAIN = "build it again with: proctor runtimes install toybox"
CFG = RuntimeCfg(name="toybox")


def refused(cfg: RuntimeCfg = CFG) -> str:
    with pytest.raises(InputError) as caught:
        locate(cfg)
    said = str(caught.value)
    assert "\n" not in said
    return said


def site(folder: Path) -> Path:
    found = store.read("toybox")
    assert found is not None
    return folder / "toybox" / found.site[0]


def mended() -> None:
    """The one command that the sentence names puts everything right."""
    installed, built = install(TOY, Wishes(), Hear(lambda text: None, lambda text: None))
    assert built
    assert locate(CFG).python == installed.interpreter


def test_missing(empty):
    expected = 'the runtime "toybox" is not installed; install it with: proctor runtimes install toybox'
    assert refused() == expected


def test_half_installed(copied):
    (copied / "toybox" / "runtime.json").unlink()
    assert refused() == (
        'the runtime "toybox" is half installed, its installation was interrupted; install it with: '
        "proctor runtimes install toybox"
    )
    mended()


def test_damaged(copied):
    for text in ("{", "[]", '{"format": 99}', '{"format": 1, "name": "toybox"}'):
        (copied / "toybox" / "runtime.json").write_text(text)
        said = refused()
        assert said.startswith(
            f'the runtime "toybox" is damaged, {copied / "toybox" / "runtime.json"} cannot be read ('
        )
        assert said.endswith(AGAIN)


def test_a_package_was_deleted(copied):
    shutil.rmtree(site(copied) / "toy")
    shutil.rmtree(site(copied) / "toy-1.0.dist-info")
    said = refused()
    assert said == f'the runtime "toybox" has changed since it was installed (toy 1.0 is gone); {AGAIN}'
    states = [problem.state for problem in problems_of("toybox")[1]]
    assert states == ["changed", "broken"]
    mended()


def test_a_package_is_of_another_version(copied):
    info = site(copied) / "toy-1.0.dist-info"
    (info / "METADATA").write_text((info / "METADATA").read_text().replace("Version: 1.0", "Version: 1.1"))
    info.rename(site(copied) / "toy-1.1.dist-info")
    assert refused() == f'the runtime "toybox" has changed since it was installed (toy is 1.1 and was 1.0); {AGAIN}'


def test_only_the_files_of_a_package_were_deleted(copied):
    shutil.rmtree(site(copied) / "toy")
    assert (
        refused() == f'the runtime "toybox" cannot import "toy" (ModuleNotFoundError: No module named \'toy\'); {AGAIN}'
    )


def test_a_change_within_a_package_is_seen_by_verify(copied):
    (site(copied) / "toy" / "__init__.py").write_text("raise SystemExit('never')\n")
    assert locate(CFG), "folders within packages are not looked at each time"
    _, problems = problems_of("toybox", thorough=True)
    assert [str(p) for p in problems] == [f'the runtime "toybox" cannot import "toy" (SystemExit: never); {AGAIN}']


def test_a_package_whose_import_ends_the_interpreter(copied):
    (site(copied) / "toy" / "__init__.py").write_text("import os\nos.kill(os.getpid(), 11)\n")
    (site(copied) / "touched").write_text("")
    assert refused() == (
        f'the Python of the runtime "toybox" died while it imported "toy" (it was ended by SIGSEGV); {AGAIN}'
    )


def test_a_package_whose_import_hangs(copied, monkeypatch):
    monkeypatch.setattr(asking, "LIMIT_S", 2.0)
    (site(copied) / "toy" / "__init__.py").write_text("import time\ntime.sleep(60)\n")
    (site(copied) / "touched").write_text("")
    assert refused() == (
        f'the Python of the runtime "toybox" died while it imported "toy" (gave no answer within 2 s); {AGAIN}'
    )


def test_a_system_library_is_missing(copied):
    extension = 'raise ImportError("libtoybox.so.7: cannot open shared object file: No such file or directory")\n'
    (site(copied) / "toy" / "__init__.py").write_text(extension)
    (site(copied) / "touched").write_text("")
    assert refused() == (
        'the runtime "toybox" cannot import "toy" without the system library libtoybox.so.7, which this machine lacks; '
        "find the package that has it with: apt-file search libtoybox.so.7"
    )
    file = copied / "toybox" / "runtime.json"
    known = json.loads(file.read_text())
    known["specification"]["system"] = {"libtoybox.so.7": "libtoybox7"}
    file.write_text(json.dumps(known))
    assert refused() == (
        'the runtime "toybox" needs the system library libtoybox.so.7, which this machine lacks; install it with: '
        "apt-get install libtoybox7"
    )


def test_the_interpreter_is_gone_or_not_executable(copied):
    found = store.read("toybox")
    assert found is not None
    python = found.interpreter
    real = python.resolve()
    python.unlink()
    said = f'the interpreter {python} of the runtime "toybox" cannot be started'
    assert refused() == f"{said} (No such file or directory); {AGAIN}"
    python.symlink_to(copied / "gone")
    assert refused() == f"{said} (No such file or directory); {AGAIN}"
    python.unlink()
    shutil.copyfile(real, python)
    python.chmod(0o644)
    assert refused() == f"{said} (Permission denied); {AGAIN}"
    python.write_text("no program")
    python.chmod(0o755)
    assert refused() == f"{said} (Exec format error); {AGAIN}"


def test_a_folder_of_the_machine_is_gone(copied, tmp_path):
    file = copied / "toybox" / "runtime.json"
    known = json.loads(file.read_text())
    known["specification"].update(path=[str(tmp_path / "simulator")], options={"simulator": str(tmp_path)})
    file.write_text(json.dumps(known))
    assert refused() == (
        f'the runtime "toybox" needs the folder {tmp_path / "simulator"}, which is not there; say where it is now '
        "with: proctor runtimes install toybox --option simulator=PATH"
    )
    (tmp_path / "simulator").mkdir()
    there = locate(CFG)
    assert there.environment()["PYTHONPATH"] == str(tmp_path / "simulator")


def test_what_a_machine_lacks_is_mended_first():
    problems = [
        verify.Problem("changed", "a", "proctor x"),
        verify.Problem("broken", "b", "apt-get y"),
    ]
    assert verify.first_problem(problems) == problems[1]
    assert verify.first_problem([]) is None


def test_nothing_is_started_while_nothing_has_changed(copied, monkeypatch):
    locate(CFG)
    monkeypatch.setattr(verify, "ask", lambda *arguments: pytest.fail("an interpreter was started"))
    first = locate(CFG)
    assert locate(CFG) == first
    os.utime(site(copied), ns=(1, 1))
    with pytest.raises(pytest.fail.Exception):
        locate(CFG)


def test_a_change_that_comes_to_nothing_is_remembered(copied, monkeypatch):
    os.utime(site(copied), ns=(1, 1))
    locate(CFG)
    monkeypatch.setattr(verify, "ask", lambda *arguments: pytest.fail("an interpreter was started"))
    locate(CFG)


def test_a_folder_that_cannot_be_written_to_is_only_asked_each_time(copied, monkeypatch):
    os.utime(site(copied), ns=(1, 1))

    def refuse(path: Path, data: bytes) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(verify, "write_synced", refuse)
    assert locate(CFG) == locate(CFG)


def test_what_is_imported_neither_speaks_nor_finds_the_working_directory(copied, monkeypatch, tmp_path):
    (tmp_path / "toy.py").write_text("raise RuntimeError('the wrong one')\n")
    (tmp_path / "json.py").write_text("raise RuntimeError('the wrong one')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert problems_of("toybox", thorough=True)[1] == []
