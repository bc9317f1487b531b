"""From a thousand motions to the report about them, in worlds on a device: how many seconds?

    python -m benchmarks.motions_on_device [--device cuda] [--motions 1000] [--frames 500] [--checkpoint FILE.onnx]

Motions are the procedural ones of many seeds, stretched to so many frames each. A world follows one of them, with all
tracking metrics, series and the report, as a user starts it. The agent is three layers of 512, whose robots fall at
once (the hardest case for exact transport), or with `--checkpoint examples/checkpoints/tracking.onnx` a network that
`examples/train_tracking.py` trained, whose layers are then asked where the worlds are. What is printed: loading the
motions and making the worlds, which includes kernels that are not compiled yet; from the first round until the last
record is on disk; and the report.
"""

from __future__ import annotations

import argparse
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.device_worlds import Layers, Watching
from benchmarks.folders import run_folder
from benchmarks.table import machine
from proctor import config_from_dict, run_evaluation

FPS = 50.0
OFFSETS = (1, 5, 15)
SHOWN = ("emd", "mpjpe_xpos", "upright_share")


def motions(count: int, frames: int) -> dict[str, dict[str, Any]]:
    """So many motions of so many frames, in the form that humanoids' libraries have."""
    from proctor.suites.tracking.motions import load_motions
    from proctor.suites.tracking.robot import load_robot

    seeds = range(-(-count // 8))
    library = load_motions([f"procedural:all?seed={seed}" for seed in seeds], load_robot("builtin:g1"))
    found = {}
    for i, name in enumerate(library.names[:count]):
        qpos = library.reference(i).qpos
        at = np.linspace(0, len(qpos) - 1, frames)
        low = np.minimum(at.astype(int), len(qpos) - 2)
        share = (at - low)[:, None]
        mixed = (1 - share) * qpos[low] + share * qpos[low + 1]
        turns = mixed[:, 3:7] / np.linalg.norm(mixed[:, 3:7], axis=1, keepdims=True)
        found[name] = {
            "root_pos": mixed[:, :3], "root_rot": turns[:, [1, 2, 3, 0]], "dof_pos": mixed[:, 7:], "fps": FPS,
        }  # fmt: skip
    return found


class Trained(Layers):
    """The network of a file that `examples/train_tracking.py` exported, in torch."""

    def __init__(self, spaces: Any, device: str, checkpoint: str):
        import onnx
        import torch
        from torch import nn

        super().__init__(spaces, device)
        stored = {entry.name: entry for entry in onnx.load(checkpoint).graph.initializer}

        def constant(name: str) -> torch.Tensor:
            return torch.from_numpy(onnx.numpy_helper.to_array(stored[name]).copy()).to(device)

        count = sum(name[0] == "w" and name[1:].isdigit() for name in stored)
        parts: list[nn.Module] = []
        for i in range(count):
            weights = constant(f"w{i}")
            layer = nn.Linear(weights.shape[1], weights.shape[0]).to(device)
            layer.load_state_dict({"weight": weights, "bias": constant(f"b{i}")})
            parts += [layer, nn.ELU()]
        self._net = nn.Sequential(*parts[:-1]).eval()
        self._mean, self._spread, self._low, self._high = map(constant, ("mean", "spread", "low", "high"))
        self._pose, self._scale = map(constant, ("pose", "scale"))
        self._row = OFFSETS.index(1)

    def ask(self, observation: Any) -> Any:
        torch = self._torch
        window = observation["reference"]
        with torch.inference_mode():
            seen = torch.cat([observation["state"], observation["last_action"], window.flatten(1)], dim=1)
            scaled = ((seen - self._mean) / self._spread).clamp(self._low, self._high)
            base = (window[:, self._row, : len(self._pose)] - self._pose) / self._scale
            return base + self._net(scaled)


def config(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """A run over the motions of a file in this folder."""
    agent: dict[str, Any] = {"name": "layers", "policy": "benchmarks.device_worlds:Layers", "device": given.device}
    options = {
        "motions": {"path": str(folder / "motions.pkl"), "fps": FPS}, "physics": "warp", "device": given.device,
        "observations": ["state", "last_action", "reference"], "reference_offsets": list(OFFSETS),
    }  # fmt: skip
    if given.checkpoint:
        kwargs = {"checkpoint": str(Path(given.checkpoint).absolute())}
        agent |= {"policy": "benchmarks.motions_on_device:Trained", "options": {"kwargs": kwargs}}
    return {
        "agents": [agent],
        "tasks": [{"suite": "tracking", "name": "motions", "options": options}],
        "num_parallel": given.motions,
        "workers": {"kind": "inline", "records": given.records},
        "output_root": str(folder),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.motions_on_device", description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--motions", type=int, default=1000)
    parser.add_argument("--frames", type=int, default=500)
    parser.add_argument("--checkpoint")
    parser.add_argument("--records", type=int, help="processes that make records; default: what Proctor takes")
    given = parser.parse_args()
    print(f"{machine()}, {given.device}")
    with run_folder() as folder:
        whole = motions(given.motions, given.frames)
        (Path(folder) / "motions.pkl").write_bytes(pickle.dumps(whole))
        done = 0.0

        def follow(state: Any) -> None:
            nonlocal done
            if state.phase == "running":
                done = time.perf_counter()

        cfg = config_from_dict(config(Path(folder), given))
        with Watching() as noted:
            began = time.perf_counter()
            run = run_evaluation(cfg, progress=follow)
            over = time.perf_counter()
        results = list(run.results())
        faults = [result.error for result in results if not result.outcome.scored]
        assert len(results) == given.motions, len(results)
        assert not faults, faults[0]
        if not noted.at:
            raise SystemExit(f"the run took no device rounds; its log says why: {run.path / 'run.log'}")
        steps = sum(result.steps_total or 0 for result in results)
    first = noted.at[0]
    print(f"{given.motions:,} motions of {given.frames} frames, {steps:,} steps, {len(noted.at)} rounds")
    print(f"motions loaded and worlds made in {first - began:.1f} s")
    print(f"all steps, all metrics and all records: {done - first:.1f} s, rounds of it {noted.at[-1] - first:.1f} s")
    print(f"the report: {over - done:.1f} s; from the first round: {over - first:.1f} s")
    for name in SHOWN:
        values = [result.metrics[name] for result in results if result.metrics.get(name) is not None]
        print(f"mean {name}: {np.mean(np.array(values, float)):.4g} of {len(values)} trials")


if __name__ == "__main__":
    main()
