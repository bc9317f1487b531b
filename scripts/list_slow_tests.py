"""Write tests/slow.txt from what the tests print.

    make test ARGS="--durations=0 -vv" > log
    python scripts/list_slow_tests.py log

The tests that are listed there have the marker `slow`, and `make quick` leaves them out. A test with several parameters
is slow where one of them is."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

SLOW_S = 0.6
OUT = Path(__file__).parents[1] / "tests" / "slow.txt"


def slow_tests(log: str, slow_s: float = SLOW_S) -> list[str]:
    """Tests (without their parameters) that take so many seconds or more, with what is set up for them."""
    seconds: dict[str, float] = defaultdict(float)
    for spent, test in re.findall(r"^ *([\d.]+)s (?:call|setup|teardown) +(tests/.+)$", log, re.M):
        seconds[test] += float(spent)
    return sorted({test.partition("[")[0].strip() for test, spent in seconds.items() if spent >= slow_s})


if __name__ == "__main__":
    slow_s = float(sys.argv[2]) if len(sys.argv) > 2 else SLOW_S
    OUT.write_text("".join(f"{test}\n" for test in slow_tests(Path(sys.argv[1]).read_text(), slow_s)))
