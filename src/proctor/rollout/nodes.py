"""What a run notes of the machines that its trials are done on, where there are several: the nodes of a cluster, and
those on which the jobs of a submission run."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ASK_S = 20.0


def this_machine() -> dict[str, Any]:
    """This machine as a node, with the GPUs that this process may use."""
    visible = [one for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one.strip()]
    host = socket.gethostname()
    return {"node": host, "host": host, "address": host, "devices": devices(visible)}


def devices(given: Iterable[Any]) -> list[str]:
    """The kinds of these GPUs, which are named by their numbers; where there are none, the kind of the CPU."""
    numbers = ",".join(map(str, given))
    if not numbers:
        return [f"CPU ({_processor()})"]
    asked = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader", f"--id={numbers}"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        found = subprocess.run(asked, capture_output=True, text=True, timeout=ASK_S, check=True)
        return sorted(set(filter(None, map(str.strip, found.stdout.splitlines())))) or ["GPU"]
    return ["GPU"]


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
