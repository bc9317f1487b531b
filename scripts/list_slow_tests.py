"""Write tests/slow.txt from what the tests print.

    make test ARGS="--durations=0 -vv" > log
    python scripts/list_slow_tests.py log

The tests that are listed there have the marker `slow`, and `make quick` leaves them out. The slowest are listed, until
the others take no more than QUICK_S together, so that two processes need about half of that. A test with several
parameters is slow where one of them is."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

QUICK_S = 150.0
OUT = Path(__file__).parents[1] / "tests" / "slow.txt"


def slow_tests(log: str, quick_s: float = QUICK_S) -> list[str]:
    """The slowest tests, without their parameters; the rest takes at most so many seconds."""
    seconds: dict[str, float] = defaultdict(float)
    for spent, test in re.findall(r"^ *([\d.]+)s (?:call|setup|teardown) +(tests/.+)$", log, re.M):
        seconds[test] += float(spent)
    slowest: dict[str, float] = defaultdict(float)
    total: dict[str, float] = defaultdict(float)
    for test, spent in seconds.items():
        name = test.partition("[")[0].strip()
        slowest[name], total[name] = max(slowest[name], spent), total[name] + spent
    rest, slow = sum(total.values()), []
    for name in sorted(slowest, key=lambda name: -slowest[name]):
        if rest <= quick_s:
            break
        slow.append(name)
        rest -= total[name]
    return sorted(slow)


if __name__ == "__main__":
    quick_s = float(sys.argv[2]) if len(sys.argv) > 2 else QUICK_S
    OUT.write_text("".join(f"{test}\n" for test in slow_tests(Path(sys.argv[1]).read_text(), quick_s)))
