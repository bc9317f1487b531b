"""Train a policy that follows motions, in worlds on a device, and write it as ONNX.

    python examples/train_tracking.py train tracking.pt --device cuda          # four minutes on an H200
    python examples/train_tracking.py export tracking.pt

`train` learns with PPO (ppo.py) in the tracking suite's worlds (tracking_training.py) until its time is up, then lets
the last network and the best one follow every motion from its first frame, and keeps the better of the two. It writes
to the file all the time: what is interrupted keeps what it had, and goes on with `--resume`. `export` needs no
simulator. Its file is run by the agent `{policy: onnx}` in a task that has the observations state, last_action and
reference, with the reference_offsets that are printed.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ppo import Actor, Learner, LearningCfg, to_host

from proctor import InputError

MOTIONS = ("procedural:all", "procedural:all?seed=1", "procedural:all?seed=2", "procedural:all?seed=3")
SMOOTH = 0.2
"""Share of the newest figures in what decides which network is the best so far."""
RESERVE = 1.5
"""Times the time that the evaluation is thought to take."""


class Run:
    """One training, and the file that it is kept in."""

    def __init__(self, arguments: argparse.Namespace, started: float):
        from tracking_training import TrackingWorlds, task_options

        self.arguments, self.started = arguments, started
        torch.manual_seed(arguments.seed)
        options = task_options(arguments.motions, arguments.device, arguments.push)
        self.worlds = TrackingWorlds(options, arguments.worlds, arguments.seed)
        self.learner = Learner(self.worlds, LearningCfg(**given(arguments)))
        self.best: dict[str, Any] = {}
        self.best_score = self._score = float("-inf")
        self._said = self._written = time.monotonic()
        self._steps_said = 0
        if arguments.resume:
            self._restore(read(arguments.file))
        said = f"{arguments.worlds} worlds, {len(self.worlds.library)} motions, {arguments.device}"
        self.say(f"{said}, torch {torch.__version__}, made in {time.monotonic() - started:.0f} s")

    def say(self, line: str) -> None:
        print(f"{time.monotonic() - self.started:6.1f} s  {line}", flush=True)

    def _restore(self, kept: dict[str, Any]) -> None:
        self.learner.restore(kept["learner"])
        self.best, self.best_score, self._score = kept["best"], kept["best_score"], kept["score"]
        self._steps_said = self.learner.steps

    def learn(self) -> None:
        """Until there is just enough time left to evaluate twice, or after the iterations that were asked for."""
        arguments, began = self.arguments, time.monotonic()
        if not arguments.resume:
            self.learner.warm_up()
            self.worlds.counts()
        frames = 2 * int(self.worlds.library.lengths.max())
        done, pace = 0, 0.0
        while done < arguments.iterations:
            figures = self.learner.iterate()
            done += 1
            now = time.monotonic()
            pace = (now - began) / ((done + 1) * self.learner.cfg.horizon)
            self._consider(figures)
            if now - self._said >= arguments.every or done == arguments.iterations:
                self._line(figures, now)
            if now - self._written >= arguments.every:
                self.write()
            if now - self.started + RESERVE * frames * pace > arguments.seconds:
                break
        self.write()
        self.say(f"{done} iterations, {self.learner.steps:,} steps")

    def _consider(self, figures: dict[str, float]) -> None:
        """Keep the network where it is the best so far: most episodes came to the end, and then the reward."""
        counts = self.worlds.counts()
        figures["episodes"], figures["upright"], figures["lasted"] = counts.episodes, counts.upright, counts.lasted
        if not counts.episodes:
            return
        score = counts.upright + 0.5 * counts.lasted + figures["reward"] / self.worlds.env.worlds.dt_s / 10
        first = self._score == float("-inf")
        self._score = score if first else self._score + SMOOTH * (score - self._score)
        if self._score > self.best_score:
            self.best_score, self.best = self._score, to_device_copy(self.learner.actor.state_dict())

    def _line(self, figures: dict[str, float], now: float) -> None:
        steps = self.learner.steps
        rate = (steps - self._steps_said) / (now - self._said)
        self._said, self._steps_said = now, steps
        shown = (
            f"{steps / 1e6:8.2f} M steps  {rate:9,.0f}/s  reward {figures['reward'] / self.worlds.env.worlds.dt_s:6.3f}"
        )
        shown += f"  lasted {figures['lasted']:4.0%}  upright {figures['upright']:4.0%}  std {figures['std']:.3f}"
        self.say(f"{shown}  value {figures['value']:.3f}  kl {figures['kl']:.4f}  rate {figures['rate']:.0e}")

    def evaluate(self) -> None:
        """Both networks; the better one is what is exported."""
        from tracking_training import evaluate

        torch.set_float32_matmul_precision("highest")  # as those who run the exported network compute
        choice = {"last": self.learner.actor.state_dict(), "best": self.best or self.learner.actor.state_dict()}
        results: dict[str, Any] = {}
        for name, weights in choice.items():
            actor = Actor(len(weights["normaliser.mean"]), self.worlds.action_size, self.learner.cfg)
            actor.load_state_dict(to_host(weights))
            found, sample = evaluate(self.worlds, actor.to(self.worlds.device))
            upright, lasted, joints = np.mean([(f.upright, f.lasted, f.joints_rad) for f in found], axis=0)
            self.say(f"{name} network, from first frames: upright {upright:.1%}, lasted {lasted:.1%}, {joints:.3f} rad")
            results[name] = (upright + lasted - joints, weights, found, sample)
        name = max(results, key=lambda each: results[each][0])
        _, weights, found, sample = results[name]
        self.write({"actor": to_host(weights), "sample": sample, "found": [dataclasses.asdict(f) for f in found]})
        print(f"\nthe {name} network\n\n| motion | upright to the end | lasted | joints | bodies |")
        print("|---|---:|---:|---:|---:|")
        for f in found:
            shares = f"{f.upright:.1%} | {f.lasted:.1%}"
            print(f"| {f.motion} | {shares} | {f.joints_rad:.3f} rad | {1000 * f.bodies_m:.0f} mm |")
        said = self.worlds.env.crowded()
        if said:
            print(said)

    def write(self, chosen: dict[str, Any] | None = None) -> None:
        """All of it, in one file that is never half written. `chosen`: what is to be exported."""
        self._written, cfg = time.monotonic(), self.learner.cfg
        trained = f"{self.learner.steps:,} steps in {self.worlds.n} worlds, seed {self.arguments.seed}, PPO"
        motions = ", ".join(map(str, self.arguments.motions))
        kept = {
            "learner": self.learner.state(), "best": to_host(self.best), "best_score": self.best_score,
            "score": self._score, "chosen": chosen, "hidden": list(cfg.hidden),
            "about": about(self.worlds.robot.description, motions=motions, trained=trained),
        }  # fmt: skip
        part = self.arguments.file.with_suffix(".part")
        torch.save(kept, part)
        part.replace(self.arguments.file)


def about(description: Any, **more: Any) -> dict[str, Any]:
    """What the exported file says of itself, and what it needs of the robot."""
    from tracking_training import OFFSETS

    numbers = {
        "default_joint_pos": description.default_pose, "action_scale": description.action_scale,
        "joint_stiffness": description.stiffness, "joint_damping": description.damping,
    }  # fmt: skip
    return {
        **{name: values.tolist() for name, values in numbers.items()},
        "joint_names": list(description.joint_names), "anchor_body_name": description.anchor_body,
        "robot": description.name, "reference_offsets": list(OFFSETS), **more,
    }  # fmt: skip


def to_device_copy(weights: dict[str, Any]) -> dict[str, Any]:
    return {name: value.detach().clone() for name, value in weights.items()}


def given(arguments: argparse.Namespace) -> dict[str, Any]:
    """What of `LearningCfg` was said on the command line."""
    names = ("horizon", "epochs", "minibatches", "entropy", "kl", "first_std")
    found = {name: getattr(arguments, name) for name in names}
    return found | {"hidden": tuple(arguments.hidden)}


def read(path: Path) -> dict[str, Any]:
    """A file of `train`. Raises InputError where there is none, or it is another kind of file."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; `train` writes it")
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise InputError(f"{path} was not written by `train`: {str(error)[:200]}") from None
    if not isinstance(found, dict) or not {"learner", "best", "about"} <= found.keys():
        raise InputError(f"{path} was not written by `train`: expected the entries learner, best and about")
    return found


def export(kept: dict[str, Any], path: Path) -> float | None:
    """Write the network as ONNX. The largest difference between its actions and torch's on what was seen in the
    evaluation; None where the training did not come to one."""
    import onnx

    chosen = kept["chosen"]
    weights = chosen["actor"] if chosen else kept["best"] or kept["learner"]["actor"]
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(exported(weights, kept["about"]), path)
    return difference(path, chosen["sample"]) if chosen else None


def exported(weights: dict[str, torch.Tensor], about: dict[str, Any]) -> Any:
    """An ONNX model `state (rows, 2J + 6), last_action (rows, J), reference (rows, K, 2J + 15) -> actions (rows, J)`,
    for any rows, with the normaliser inside."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from ppo import LEAST_STD, LONGEST

    joints, offsets = len(about["joint_names"]), about["reference_offsets"]
    row, width = offsets.index(1), 2 * joints + 15
    layers = sorted({name.split(".")[1] for name in weights if name.startswith("layers.")}, key=int)
    constants: dict[str, np.ndarray] = {
        "mean": weights["normaliser.mean"].numpy(),
        "spread": (weights["normaliser.var"].sqrt() + LEAST_STD).numpy(),
        "low": np.array(-LONGEST, np.float32), "high": np.array(LONGEST, np.float32),
        "starts": np.array([row * width]), "ends": np.array([row * width + joints]), "axes": np.array([1]),
        "pose": np.array(about["default_joint_pos"], np.float32), "scale": np.array(about["action_scale"], np.float32),
    }  # fmt: skip
    nodes = [
        helper.make_node("Flatten", ["reference"], ["window"], axis=1),
        helper.make_node("Concat", ["state", "last_action", "window"], ["seen"], axis=1),
        helper.make_node("Sub", ["seen", "mean"], ["centred"]),
        helper.make_node("Div", ["centred", "spread"], ["scaled"]),
        helper.make_node("Clip", ["scaled", "low", "high"], ["x0"]),
    ]
    for i, layer in enumerate(layers):
        constants |= {
            f"w{i}": weights[f"layers.{layer}.weight"].numpy(),
            f"b{i}": weights[f"layers.{layer}.bias"].numpy(),
        }
        nodes.append(helper.make_node("Gemm", [f"x{i}", f"w{i}", f"b{i}"], [f"z{i}"], transB=1))
        nodes.append(helper.make_node("Elu", [f"z{i}"], [f"x{i + 1}"]))
    nodes[-1] = helper.make_node("Slice", ["window", "starts", "ends", "axes"], ["target"])
    nodes += [
        helper.make_node("Sub", ["target", "pose"], ["offset"]),
        helper.make_node("Div", ["offset", "scale"], ["base"]),
        helper.make_node("Add", ["base", f"z{len(layers) - 1}"], ["actions"]),
    ]

    def port(name: str, *shape: int) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", *shape])

    inputs = [port("state", 2 * joints + 6), port("last_action", joints), port("reference", len(offsets), width)]
    stored = [numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "tracking", inputs, [port("actions", joints)], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, {name: written(value) for name, value in about.items()})
    onnx.checker.check_model(model)
    return model


def written(value: Any) -> str:
    """As exporters of robot policies write lists."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def difference(path: Path, sample: dict[str, torch.Tensor]) -> float:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    feed = {value.name: sample[value.name].numpy() for value in session.get_inputs()}
    (actions,) = session.run(None, feed)
    return float(np.abs(actions - sample["actions"].numpy()).max())


def main() -> None:
    started = time.monotonic()
    arguments = parser().parse_args()
    if arguments.verb == "train":
        if arguments.device.startswith("cuda"):
            torch.set_float32_matmul_precision("high")
        run = Run(arguments, started)
        try:
            run.learn()
            run.evaluate()
        finally:
            run.worlds.close()
        return
    kept = read(arguments.file)
    path = arguments.out or arguments.file.with_suffix(".onnx")
    apart = export(kept, path)
    said = "" if apart is None else f"; its actions differ from torch's by {apart:.1e} at most"
    print(f"{path} ({path.stat().st_size / 1e6:.2f} MB), {kept['about']['trained']}{said}")
    print(f"observations: [state, last_action, reference], reference_offsets: {kept['about']['reference_offsets']}")


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = found.add_subparsers(dest="verb", required=True)
    training = verbs.add_parser("train", help="learn, and evaluate")
    training.add_argument("file", type=Path, help="where all that was learned is kept")
    training.add_argument("--seconds", type=float, default=240.0, help="for everything, from start to end")
    training.add_argument("--iterations", type=int, default=1_000_000, help="at most so many")
    training.add_argument("--worlds", type=int, default=4096)
    training.add_argument("--device", default="cpu")
    training.add_argument("--motions", nargs="+", default=list(MOTIONS))
    training.add_argument("--seed", type=int, default=0)
    training.add_argument("--every", type=float, default=3.0, help="seconds between two lines, and two writings")
    training.add_argument("--push", type=float, default=0.3, help="largest push, m/s; 0: none")
    training.add_argument("--resume", action="store_true", help="go on from the file")
    cfg = LearningCfg()
    for name in ("horizon", "epochs", "minibatches"):
        training.add_argument(f"--{name}", type=int, default=getattr(cfg, name))
    training.add_argument("--entropy", type=float, default=cfg.entropy)
    training.add_argument("--kl", type=float, default=cfg.kl)
    training.add_argument("--first-std", type=float, default=cfg.first_std)
    training.add_argument("--hidden", type=int, nargs="+", default=list(cfg.hidden))
    exporting = verbs.add_parser("export", help="write the network as ONNX")
    exporting.add_argument("file", type=Path)
    exporting.add_argument("--out", type=Path)
    return found


if __name__ == "__main__":
    main()
