"""Run by an interpreter that has rsl_rl (that of mjlab): actors of several kinds, in rsl_rl's own classes.

python rsl_rl_models.py FOLDER makes a folder for each kind: `model_0.pt` and `params/agent.yaml` as mjlab's training
writes them, and `seen.npz`: what the actor's inference gives for the observations of several steps (of several
episodes, for one with a memory). The observation has the groups `actor` (7 numbers) and `map` (3).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mjlab.utils.os import dump_yaml
from rsl_rl.models import MLPModel, RNNModel
from tensordict import TensorDict

ROWS, STEPS, ACTIONS = 5, 6, 4
GAUSSIAN = {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"}
KINDS: dict[str, dict[str, Any]] = {
    "plain": {"hidden_dims": (8, 6), "activation": "elu", "distribution_cfg": GAUSSIAN},
    "normalised": {
        "obs_normalization": True,
        "activation": "tanh",
        "distribution_cfg": {**GAUSSIAN, "std_type": "log"},
    },
    "two_groups": {"groups": ("map", "actor"), "activation": "swish", "distribution_cfg": GAUSSIAN},
    "spread_by_state": {"distribution_cfg": {"class_name": "HeteroscedasticGaussianDistribution"}},
    "beta": {"distribution_cfg": {"class_name": "BetaDistribution", "action_range": (-2.0, 3.0)}, "activation": "mish"},
    "lstm": {"rnn_type": "lstm", "rnn_hidden_dim": 9, "rnn_num_layers": 2, "obs_normalization": True},
    "gru": {"rnn_type": "gru", "rnn_hidden_dim": 5, "clip_actions": 0.05, "activation": "relu"},
}


def main(folder: Path) -> None:
    for name, kind in KINDS.items():
        torch.manual_seed(3)
        make(folder / name, dict(kind))


def make(folder: Path, kind: dict[str, Any]) -> None:
    groups, clip = kind.pop("groups", ("actor",)), kind.pop("clip_actions", None)
    actor = {
        "hidden_dims": (8, 8),
        "activation": "elu",
        "obs_normalization": False,
        "distribution_cfg": GAUSSIAN,
        **kind,
    }
    notes = {"class_name": "RNNModel" if "rnn_type" in kind else "MLPModel", **actor}
    dump_yaml(
        folder / "params" / "agent.yaml",
        {"obs_groups": {"actor": groups}, "clip_actions": clip, "actor": {**notes, "cnn_cfg": None}},
    )
    seen = [observed() for _ in range(STEPS)]
    actor["distribution_cfg"] = dict(actor["distribution_cfg"])
    model = (RNNModel if "rnn_type" in kind else MLPModel)(seen[0], {"actor": list(groups)}, "actor", ACTIONS, **actor)
    for weight in model.parameters():
        weight.data += 0.2 * torch.randn_like(weight)
    for _ in range(20):
        model.update_normalization(observed())
    torch.save(
        {"actor_state_dict": model.state_dict(), "critic_state_dict": {}, "iter": 0, "infos": {}}, folder / "model_0.pt"
    )
    model.eval()
    with torch.inference_mode():
        given = [model(one).numpy() for one in seen]
    if clip is not None:
        given = [np.clip(one, -clip, clip) for one in given]
    columns = {name: np.stack([one[name].numpy() for one in seen]) for name in ("actor", "map")}
    np.savez(folder / "seen.npz", actions=np.stack(given), **columns)


def observed() -> TensorDict:
    return TensorDict({"actor": 3 * torch.randn(ROWS, 7) + 1, "map": torch.randn(ROWS, 3)}, batch_size=[ROWS])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
