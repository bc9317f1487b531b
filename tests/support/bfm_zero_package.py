"""A small double of the package `humanoidverse`: its folders, its model's methods and its checkpoint's files, so that
the loader is tested without it. The test on BFM-Zero's code loads a real folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MODEL = '''
import torch
from safetensors.torch import load_file


class FBcprAuxModel(torch.nn.Module):
    """z is made of joints; actions are read from the newest joints in the history, which is a KeyError without one."""

    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.zeros(1))

    @classmethod
    def load(cls, path, device=None):
        model = cls()
        model.load_state_dict(load_file(f"{path}/model.safetensors", device=device))
        return model

    def backward_map(self, obs):
        return obs["state"][:, :29] + obs["privileged_state"][:, :1]

    def project_z(self, z):
        return z

    def act(self, obs, z, mean=True):
        return self.gain * (z - obs["state"][:, :29]) + 0.0 * obs["history_actor"][:, :29] + 0.0 * obs["last_action"]
'''

SHAPES = {"state": [64], "privileged_state": [463], "last_action": [29], "time": [], "history_actor": [372]}


def write_package(folder: Path) -> Path:
    """The package, in a folder that goes on the path."""
    place = folder / "humanoidverse" / "agents" / "fb_cpr_aux"
    place.mkdir(parents=True)
    (place / "model.py").write_text(MODEL)
    return folder


def write_checkpoint(folder: Path, **changes: Any) -> Path:
    """A checkpoint folder as BFM-Zero's training leaves it; `changes`: other contents of its files, by name."""
    import torch
    from safetensors.torch import save_file

    place = folder / "checkpoint" / "model"
    place.mkdir(parents=True, exist_ok=True)
    spaces = {key: {"shape": shape, "type": "Box", "dtype": "float32"} for key, shape in SHAPES.items()}
    files = {
        "config": {"name": "FBcprAuxModel"},
        "init_kwargs": {"obs_space": {"type": "Dict", "spaces": spaces}, "action_dim": 29},
        **changes,
    }
    for name, content in files.items():
        (place / f"{name}.json").write_text(json.dumps(content))
    save_file({"gain": torch.full((1,), 0.2)}, place / "model.safetensors")
    return folder
