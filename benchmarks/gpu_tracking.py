"""Tracking worlds on a GPU beside the simulator alone: `python -m benchmarks.gpu_tracking`.

For each number of worlds: control steps per second of the bare captured graph of MuJoCo Warp (nothing decided, nothing
looked at), and of the tracking worlds with a policy of three layers of 512 on the device, whose observations, rewards
and flags are computed, whose joint, root and body signals are recorded to the engine's blocks, which go to the host,
and in which worlds whose motion is over begin anew, together with others as the engine has them (steps of those that
wait do not count). Both run in turns, the bare graph ten steps at a time from the states and joint targets that
the tracking worlds are at.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from proctor_host.blocks import Blocks, column_kinds
from proctor_host.device_group import PATIENCE, TOGETHER
from proctor_host.kit import kit_of

SAME = 10
"""Steps that the bare graph makes from states of the tracking worlds before it goes back to them: where robots have
come to rest, or lie on themselves, a step takes another time."""
RECORDED = ("joint_pos", "root_pos", "root_quat", "body_pos")
CHUNK_S = 0.7
"""So long one side runs before the other's turn."""


def main() -> None:
    arguments = _arguments()
    import torch

    name = torch.cuda.get_device_name() if arguments.device.startswith("cuda") else "the processor"
    print(f"torch {torch.__version__} on {name}; robot {arguments.robot}\n")
    print("| worlds | bare graph | tracking worlds | share | goal | env without policy | made in |")
    print("|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    found = []
    for worlds in arguments.worlds:
        found.append(measured(arguments, worlds))
        row = found[-1]
        print(
            f"| {worlds:,} | {row['bare']:,.0f}/s | {row['tracking']:,.0f}/s | {row['share']:.1%} | "
            f"{0.8 if worlds <= 1024 else 0.9:.0%} | {row['unled']:,.0f}/s | {row['made_s']:.0f} s |",
            flush=True,
        )
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(found, file, indent=1)


def measured(arguments: argparse.Namespace, n: int) -> dict[str, Any]:
    """One number of worlds: control steps per second of each side, medians over turns."""
    from proctor.suites.tracking.options import TrackingOptions
    from proctor.suites.tracking.suite import make

    began = time.perf_counter()
    options = TrackingOptions.model_validate(
        {
            "robot": arguments.robot, "motions": arguments.motions, "physics": "warp", "device": arguments.device,
            "observations": ["state", "reference", "last_action", "motion", "frame"],
            "contacts": arguments.contacts, "constraints": arguments.constraints,
        }
    )  # fmt: skip
    env: Any = make(options, render=False, worlds=n)
    sides = {"bare": Bare(env), "unled": Tracking(env, None), "tracking": Tracking(env, policy(env))}
    for side in sides.values():
        side.run(2)
    made = time.perf_counter() - began
    rates: dict[str, list[float]] = {name: [] for name in sides}
    steps = {name: sized(side.run, env, CHUNK_S) for name, side in sides.items()}
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end or not rates["tracking"]:
        for name, side in sides.items():
            waited = side.waited
            seconds = timed(side.run, env, steps[name])
            rates[name].append((n * steps[name] - (side.waited - waited)) / seconds)
    middle = {name: float(np.median(values)) for name, values in rates.items()}
    said = env.crowded()
    env.close()
    if said:
        print(f"worlds {n}: {said}")
    return {"worlds": n, "made_s": made, **middle, "share": middle["tracking"] / middle["bare"], "turns": rates}


def timed(run: Callable[[int], None], env: Any, steps: int) -> float:
    """Seconds, with everything done."""
    wait(env)
    began = time.perf_counter()
    run(steps)
    wait(env)
    return time.perf_counter() - began


def sized(run: Callable[[int], None], env: Any, seconds: float) -> int:
    """About so many steps take so long."""
    return max(2, round(10 * seconds / timed(run, env, 10)))


def wait(env: Any) -> None:
    import torch

    if env.device.startswith("cuda"):
        torch.cuda.synchronize(env.device)


class Bare:
    """The physics of an environment's worlds and nothing else, captured as one graph."""

    waited = 0

    def __init__(self, env: Any):
        import mujoco_warp as mjw  # pyright: ignore[reportMissingImports]
        import warp as wp  # pyright: ignore[reportMissingImports]

        setup, self._launch = env.worlds.physics.setup, wp.capture_launch
        self._device = wp.get_device(env.device)
        with wp.ScopedDevice(self._device):
            model = mjw.put_model(setup.model)
            model.opt.warn_overflow = 0
            self._data = mjw.make_data(setup.model, nworld=setup.n, nconmax=setup.contacts, njmax=setup.constraints)

            def step() -> None:
                for _ in range(setup.substeps):
                    mjw.step(model, self._data)

            step()
            with wp.ScopedCapture() as capture:
                step()
        self._graph, self._stream = capture.graph, None
        if self._device.is_cuda:
            import torch

            self._stream = wp.stream_from_torch(torch.cuda.current_stream())
        mine, theirs = self._data, env.worlds.physics.data
        names = ("qpos", "qvel", "ctrl", "qacc_warmstart")
        self._states = [tuple(wp.to_torch(getattr(data, name)) for data in (mine, theirs)) for name in names]

    def run(self, steps: int) -> None:
        for step in range(steps):
            if step % SAME == 0:
                for mine, theirs in self._states:
                    mine.copy_(theirs)
            self._launch(self._graph, stream=self._stream)


class Tracking:
    """The whole: policy, environment, signals to the host, and new trials."""

    def __init__(self, env: Any, act: Callable[[dict[str, Any]], Any] | None):
        import torch

        self._env, self._act, n = env, act, env.num_worlds
        lengths = env.worlds.lengths - 1
        self._lengths, self._motions = lengths, np.arange(n) % len(lengths)
        self._left = np.random.default_rng(0).integers(1, lengths[self._motions] + 1)
        self._begun, self._at = n, 0
        self.waited, self._since = 0, 0
        """Steps of worlds that waited for their next trials; and the step in which the first of those began to."""
        self._seen = env.begin_device(np.arange(n), list(range(n)), self._motions.tolist())
        frames = lengths[self._motions] - self._left
        self._seen = env.begin_where(*map(torch.as_tensor, (np.ones(n, bool), self._motions, frames)))
        self._idle = torch.as_tensor(np.zeros((n, *env.action_space.shape), np.float32), device=env.device)
        self._kit = kit_of(env.device)
        self._blocks: Any = None

    def run(self, steps: int) -> None:
        import torch

        with torch.inference_mode():
            for _ in range(steps):
                self._step()

    def _step(self) -> None:
        columns = self._env.step_device(self._idle if self._act is None else self._act(self._seen))
        self._seen = columns.observation
        self._record(columns.signals)
        self._left -= 1
        (over,) = np.nonzero(self._left <= 0)
        if not len(over):
            self._since = self._at
        elif len(over) * TOGETHER < len(self._left) and self._at - self._since < PATIENCE:
            self.waited += len(over)
        else:
            self._since = self._at
            trials = self._begun + np.arange(len(over))
            self._begun += len(over)
            self._motions[over] = trials % len(self._lengths)
            self._left[over] = self._lengths[self._motions[over]]
            self._seen = self._env.begin_device(over, trials.tolist(), trials.tolist())

    def _record(self, signals: dict[str, Any]) -> None:
        """Into the blocks that the engine has its records in."""
        values = {name: signals[name] for name in RECORDED}
        if self._blocks is None:
            kinds = column_kinds(self._kit, values)
            self._blocks = Blocks(self._kit, self._env.num_worlds, kinds, self._at, self._arrived)
        self._blocks.write(values)
        self._at += 1

    def _arrived(self) -> None:
        """Nobody needs what lies on the host."""
        self._blocks.forget(np.full(self._env.num_worlds, self._at))


def policy(env: Any) -> Callable[[dict[str, Any]], Any]:
    """Three layers of 512. It asks for small actions: what is measured is its time."""
    import torch

    torch.manual_seed(0)
    width = sum(int(np.prod(env.observation_space[name].shape)) for name in ("state", "reference", "last_action"))
    layers: list[torch.nn.Module] = []
    for inside in (width, 512, 512):
        layers += [torch.nn.Linear(inside, 512), torch.nn.ELU()]
    net = torch.nn.Sequential(*layers, torch.nn.Linear(512, env.action_space.shape[0])).to(env.device)
    with torch.no_grad():
        net[-1].weight *= 0.01  # pyright: ignore[reportOperatorIssue, reportArgumentType]

    def act(seen: dict[str, Any]) -> Any:
        flat = [seen[name].flatten(1) for name in ("state", "reference", "last_action")]
        return net(torch.cat(flat, dim=1))

    return act


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, nargs="+", default=[1024, 4096, 16384])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--robot", default="builtin:g1", help="as the option robot of the suite tracking")
    parser.add_argument("--motions", nargs="+", default=["procedural:all"])
    parser.add_argument("--seconds", type=float, default=10.0, help="for each number of worlds")
    parser.add_argument("--contacts", type=int, help="room for each world")
    parser.add_argument("--constraints", type=int, help="room for each world")
    parser.add_argument("--json", help="write the numbers to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
