"""Where a run took place."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np

from proctor.record.environment import changes, describe, git_state, versions


def test_versions_of_what_decides_and_nothing_that_is_absent() -> None:
    found = versions()
    assert found["numpy"] == np.__version__
    assert all(found.values())


def test_the_description_is_plain_data() -> None:
    found = json.loads(json.dumps(describe(2)))
    assert found["cpu_count"] >= 1
    assert found["numeric_threads"] == 2
    assert {"versions", "host", "platform", "cpu", "command", "git"} <= found.keys()


def test_a_compiler_of_another_version_is_said_where_the_old_one_was_noted() -> None:
    now = describe(2)
    older = {"versions": {**now["versions"], "numba": "0.1"}}
    assert changes(older, now) == [f"numba was 0.1 when this run began and is {now['versions']['numba']} now"]
    del older["versions"]["numba"]
    assert changes(older, now) == []
    later = {**now, "versions": {**now["versions"], "torch": "99"}}
    assert changes({"versions": {"numpy": np.__version__}}, later)[0].startswith("torch was None when")


def test_the_state_of_a_repository(tmp_path: Path) -> None:
    assert git_state(tmp_path) is None, "outside a repository"
    who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert git_state(tmp_path) is None, "without a commit"
    subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "first"], cwd=tmp_path, check=True)
    clean = git_state(tmp_path)
    assert clean is not None
    assert len(clean["commit"]) == 40
    assert not clean["dirty"]
    (tmp_path / "new").touch()
    assert git_state(tmp_path) == clean, "what git does not know does not count"
    subprocess.run(["git", "add", "new"], cwd=tmp_path, check=True)
    assert git_state(tmp_path) == {**clean, "dirty": True}
