"""The scripted agents of this suite, under short names, and what checkpoints say of their environments."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from proctor.errors import InputError
from proctor.policies.from_python import ScriptedLoader
from proctor.policies.torch_tools import read_weights


class PushOnlyLoader(ScriptedLoader):
    """A wire in a vessel: pushes and never turns."""

    name: ClassVar[str] = "endovascular/push_only"
    target: ClassVar[str] = "proctor.suites.endovascular.agents:PushOnly"


class NavigatorLoader(ScriptedLoader):
    """A wire in a vessel: turns the tip towards the next centreline point, backs off when stuck."""

    name: ClassVar[str] = "endovascular/navigator"
    target: ClassVar[str] = "proctor.suites.endovascular.agents:Navigator"


def read_environment(file: str | Path) -> dict[str, Any]:
    """The configuration of the evaluation environment in a checkpoint. Raises InputError where there is none."""
    if not Path(file).is_file():
        raise InputError(f"no such file: {file}, the environment_file")
    try:
        import torch
    except ImportError:
        raise InputError(f"{file} is read with torch, which is not installed: pip install 'proctor[torch]'") from None
    content = read_weights(Path(file), str(file), torch.device("cpu"))
    found = content.get("env_eval") if isinstance(content, dict) else None
    if not isinstance(found, dict) or "observation" not in found:
        raise InputError(
            f"{file} holds no configuration of an environment (env_eval); give the task's options yourself"
        )
    return found
