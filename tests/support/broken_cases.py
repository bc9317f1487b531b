"""In place of `campaign.cases`: the first case is fine, the second crashes, the third hangs, the rest are fine."""

from __future__ import annotations

import json
import os
import signal
import sys
import time


def main() -> None:
    first, count = int(sys.argv[2]), int(sys.argv[3])
    for seed in range(first, first + count):
        print(json.dumps({"begun": seed}), flush=True)
        if seed == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        if seed == 2:
            time.sleep(1000)
        troubles = [["traceback", "seen"]] if seed == 4 else []
        print(json.dumps({"ended": seed, "what": "toy", "troubles": troubles}), flush=True)


main()
