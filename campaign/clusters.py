"""Random schedules of faults on a cluster of simulated nodes, each a test of `tests/rollout/test_cluster_faults.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from campaign.places import ROOT
from campaign.tally import Tally, Trouble

TESTS = "tests/rollout/test_cluster_faults.py"
NAME = "test_no_schedule_of_faults_loses_or_changes_a_trial"
KIND = "schedule of a cluster"
VARIABLE = "PROCTOR_FAULT_SCHEDULES"


def disturb(count: int, folder: Path) -> Tally:
    """So many schedules, one after the other. Raises SystemExit where none can be tried."""
    told, variables = folder / "clusters.xml", {**os.environ, VARIABLE: str(count)}
    command = [sys.executable, "-m", "pytest", "-q", TESTS, "-k", NAME, "--timeout", "600", f"--junitxml={told}"]
    subprocess.run(command, cwd=ROOT, env=variables, stdout=sys.stderr, check=False)
    return judged(told.read_text() if told.exists() else "<none/>", count)


def judged(told: str, count: int) -> Tally:
    """What pytest has said, as JUnit's XML."""
    cases = [case for case in ElementTree.fromstring(told).iter("testcase") if case.find("skipped") is None]
    if len(cases) != count:
        raise SystemExit(f"{len(cases)} of {count} schedules of a cluster could be tried; they need ray and pytest")
    tally = Tally()
    for case in cases:
        tally.tried[KIND] += 1
        failures = [found for kind in ("failure", "error") for found in case.findall(kind)]
        if failures:
            again = f"{VARIABLE}={count} python -m pytest '{TESTS}::{case.get('name')}'"
            tally.troubles.append(Trouble("changed", (KIND,), failures[0].get("message", ""), again))
    return tally
