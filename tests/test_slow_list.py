"""tests/slow.txt names tests that exist; a test that was renamed would be quick again without anybody noticing."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
CONFORMANCE = TESTS.parent / "src" / "proctor" / "testing"


def test_every_slow_test_exists() -> None:
    shared = "".join(file.read_text() for file in CONFORMANCE.rglob("*.py"))
    gone = []
    for line in (TESTS / "slow.txt").read_text().split():
        name, *_, test = line.split("::")
        file = TESTS.parent / name
        if not file.is_file() or f"def {test}(" not in file.read_text() + shared:
            gone.append(line)
    assert not gone, f"tests/slow.txt names tests that are not there: {gone}"
