"""Which code a config names: found without importing any of it."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import pytest

from proctor.config.code import code_of, scoring_code
from proctor.config.models import EvalConfig

MARK = "from pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\n"


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    file = tmp_path / "evil code.py"
    file.write_text(MARK)
    return file


def config(**keys: Any) -> EvalConfig:
    plain = {"agents": [{"name": "a", "policy": "random"}], "tasks": [{"name": "t", "suite": "gymnasium"}]}
    return EvalConfig.model_validate({**plain, **keys})


def agent(**keys: Any) -> EvalConfig:
    return config(agents=[{"name": "a", "policy": "random", **keys}])


def task(**options: Any) -> EvalConfig:
    return config(tasks=[{"name": "t", "suite": "gymnasium", "options": options}])


def test_registered_parts_name_no_code() -> None:
    assert code_of(config(scoring="return", loggers=[{"kind": "csv"}])) == []


def test_every_place_that_names_a_file_is_found_and_nothing_is_run(evil: Path) -> None:
    named = f"{evil}:thing"
    for cfg in (
        agent(policy=named),
        agent(policy="torch", options={"module": named}),
        agent(options={"goals": {"target": "x", "kwargs": {"load": named}}}),
        config(tasks=[{"name": "t", "suite": named}]),
        task(id=f"{evil}:Env-v0"),
        task(imports=[str(evil)]),
        task(wrappers=[{"target": named, "kwargs": {}}]),
        config(scoring={"mode": named}),
        config(scoring={"metrics": [named]}),
        config(workers={"kind": named}),
        config(loggers=[{"kind": named}]),
    ):
        (found,) = code_of(cfg)
        assert found.file == evil
        assert found.sha256 == hashlib.sha256(MARK.encode()).hexdigest()
    assert not evil.with_suffix(".ran").exists()


def test_only_scoring_and_metrics_are_code_of_a_reader(evil: Path) -> None:
    named = f"{evil}:thing"
    cfg = config(
        agents=[{"name": "a", "policy": named}], scoring={"mode": named, "metrics": [named], "options": {"x": named}}
    )
    assert [code.where for code in scoring_code(cfg)] == ["scoring.mode", "scoring.metrics.0"]


def test_a_module_is_found_without_importing_the_packages_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil_package" / "inner").mkdir(parents=True)
    for file in ("__init__.py", "inner/__init__.py", "inner/deep.py"):
        (tmp_path / "evil_package" / file).write_text(MARK)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("evil_package", "evil_package.inner", "evil_package.inner.deep"):
        (named,) = code_of(config(scoring=f"{name}:thing"))
        (imported,) = code_of(task(imports=[name]))
        assert named.file == imported.file
    assert "evil_package" not in sys.modules
    assert not list(tmp_path.rglob("*.ran"))


def test_a_module_of_the_interpreter_is_code_without_a_file() -> None:
    (found,) = code_of(config(scoring="builtins:exec"))
    assert found.file is None


@pytest.mark.parametrize(
    "text", ["builtin:g1", "no_such_module:x", "/no/such/file.py:f", ":x", "a..b:x", ".a:x", "a:b:c", "x\0.py:f", ":"]
)
def test_what_leads_nowhere_is_no_code(text: str) -> None:
    assert code_of(config(scoring={"mode": text})) == []


def test_what_is_unpickled_is_code(tmp_path: Path) -> None:
    checkpoint, other = tmp_path / "model.pt", tmp_path / "reward.txt"
    checkpoint.write_bytes(b"weights")
    other.write_bytes(b"code")
    (found,) = code_of(agent(policy="torch", checkpoint=str(checkpoint), options={"trust": True}))
    assert found.file == checkpoint
    assert code_of(agent(policy="torch", checkpoint=str(checkpoint), options={"trust": False})) == []
    (found,) = code_of(task(evaluation={"file": str(other), "trust": True}))
    assert found.file == other
