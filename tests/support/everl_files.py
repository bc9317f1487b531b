"""Checkpoints as eve_rl writes them: a SAC actor with its configuration, and that of its environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def described(kind: str, **arguments: Any) -> dict[str, Any]:
    return {"_class": f"eve.{kind}", "_id": hash(kind) % 10**9, **arguments}


def environment(**changes: Any) -> dict[str, Any]:
    """The configuration of an environment in stEVE's form; parts that were described before are named only."""
    wire = described(
        "intervention.device.jshaped.JShaped", velocity_limit=[30.0, 2.0], length=400, tip_radius=12.1, tip_angle=1.2,
        tip_outer_diameter=0.7, tip_inner_diameter=0.0, straight_outer_diameter=0.89, straight_inner_diameter=0.0,
        poisson_ratio=0.49, young_modulus_tip=17e3, young_modulus_straight=80e3,
    )  # fmt: skip
    again = {"_class": "eve.intervention.monoplanestatic.MonoPlaneStatic", "_id": 1}
    intervention = {
        **again,
        "vessel_tree": described("intervention.vesseltree.aorticarch.AorticArch", arch_type="I", seed=7),
        "devices": [wire],
        "simulation": described("intervention.simulation.sofabeamadapter.SofaBeamAdapter", friction=0.1),
        "fluoroscopy": described("intervention.fluoroscopy.trackingonly.TrackingOnly", image_frequency=7.5,
                                 image_rot_zx=[25, 0]),
        "target": described("intervention.target.centerlinerandom.CenterlineRandom", threshold=6,
                            branches=["lcca", "lsa", "co"]),
        "stop_device_at_tree_end": True,
        "normalize_action": False,
    }  # fmt: skip
    points = described("observation.tracking2d.Tracking2D", intervention=again, n_points=4, resolution=3.0)
    scaled = described("observation.wrapper.NormalizeTracking2DEpisode", wrapped_obs=points, intervention=again)
    goal = described("observation.target2d.Target2D", intervention=again, interim_target=None)
    entries = {
        "target": described("observation.wrapper.NormalizeTracking2DEpisode", wrapped_obs=goal),
        "tracking": described("observation.wrapper.memory.Memory", wrapped_obs=scaled, n_steps=2, reset_mode=0),
        "turn": described("observation.rotation.Rotations", intervention=again),
    }
    observation = described("observation.obsdict.ObsDict", observations={**entries, **changes})
    return described("env.Env", intervention=intervention, observation=observation, interim_target=None)


def checkpoint(folder: Path, head: str = "Dummy", inputs: int = 20, **changes: Any) -> Path:
    """A file with a random actor of 2 actions; `head` is Dummy or LSTM."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    parts = nn.ModuleDict({"head": nn.Module(), "body": nn.Module()})
    width = inputs
    if head == "LSTM":
        parts["head"]._lstm = nn.LSTM(inputs, 6, 2, batch_first=True)
        width = 6
    parts["body"]._input_layer = nn.Linear(width, 8)
    parts["body"]._layers = nn.ModuleList([nn.Linear(8, 8)])
    parts["body"]._output_layers = nn.ModuleList([nn.Linear(8, 2), nn.Linear(8, 2)])
    policy = {
        "head": {"_class": f"eve_rl.network.component.{head}"},
        "body": {"_class": "eve_rl.network.component.MLP"},
    }
    content = {
        "algo": {"model": {"policy": policy}, "action_scaling": 1.0},
        "env_eval": environment(),
        "network_state_dicts": {"policy": parts.state_dict()},
        "steps": {"update": 3},
    }
    torch.save({**content, **changes}, folder / "best.everl")
    return folder / "best.everl"
