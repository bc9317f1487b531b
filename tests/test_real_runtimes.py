"""A recipe that ships, built from the registry that pip is configured with."""

from __future__ import annotations

import pytest

from proctor.config.models import RuntimeCfg
from proctor.errors import RunError
from proctor.runtimes import locate, specify
from proctor.runtimes.install import Hear, Wishes, install
from proctor.runtimes.verify import problems_of

UNREACHABLE = ("No matching distribution", "Temporary failure", "Connection", "offline", "dns error", "timed out")


@pytest.mark.timeout(900)
def test_crafter_is_built_and_its_lock_builds_the_same(tmp_path, monkeypatch):
    from proctor.runtimes.store import read_lock

    monkeypatch.setenv("PROCTOR_RUNTIMES", str(tmp_path))
    said: list[str] = []
    hear = Hear(said.append, said.append)
    try:
        installed, built = install(specify("crafter"), Wishes(), hear)
    except RunError as error:
        if any(word in "\n".join([str(error), *said]) for word in UNREACHABLE):
            pytest.skip(f"the registry cannot be reached: {error}")
        raise
    assert built
    assert locate(RuntimeCfg(name="crafter")).identity["hash"] == installed.hash
    assert problems_of("crafter", thorough=True) == (installed, [])
    again, _ = install(specify("crafter"), Wishes(lock=read_lock(installed.folder / "lock.txt"), again=True), hear)
    assert again.hash == installed.hash
    assert again.environment != installed.environment
