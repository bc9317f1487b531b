"""Train the reference policy on Meta-World's scripted experts, and write it as safetensors.

    python examples/train_manipulation.py collect demos.npz        # simulate and draw: some minutes on one core
    python examples/train_manipulation.py train demos.npz          # --device cuda: a few minutes on a GPU

`collect` has each task's expert show it again and again, in variations that the example does not examine. It starts
where the expert would not: after a random walk, or after a push that interrupts it, so that the policy learns to find
back. `train` writes `checkpoints/manipulation.safetensors`, and prints what the networks make of demonstrations that
were held out. Both draw from `--seed` alone.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from manipulation_demos import Demos, read_demos

from proctor import InputError
from proctor.suites.metaworld import NetCfg

TASKS = (
    "reach-v3",
    "door-open-v3",
    "drawer-open-v3",
    "drawer-close-v3",
    "button-press-topdown-v3",
    "window-open-v3",
    "window-close-v3",
)
CAMERA, SIZE = "corner3", 64
VARIATION_SEED = 7
"""Not the suite's own, whose variations are examined."""
FRAME_EVERY = 5
LONGEST = 220
AFTERWARDS = 10
"""Steps that are still shown after success."""


@dataclass
class Show:
    """One demonstration as it is made: states (4,), actions (4,), and images by step."""

    states: list[np.ndarray]
    actions: list[np.ndarray]
    images: dict[int, np.ndarray]


class Stage:
    """A task with its expert."""

    def __init__(self, task: str, variations: int):
        from metaworld.policies import ENV_POLICY_MAP

        from proctor.suites.metaworld import MetaworldEnv, MetaworldOptions

        size = {f"{of}_{side}": SIZE for of in ("image", "video") for side in ("height", "width")}
        options = {"video_camera": CAMERA, "variations": variations, "variation_seed": VARIATION_SEED, **size}
        self.env = MetaworldEnv(MetaworldOptions.model_validate({"task": task, **options}))
        self.instruction = self.env.instruction
        self._expert = ENV_POLICY_MAP[task]()

    def advice(self, vector: np.ndarray) -> np.ndarray:
        return np.clip(self._expert.get_action(vector), -1.0, 1.0).astype(np.float32)

    def show(self, index: int, rng: np.random.Generator) -> Show | None:
        """A demonstration of one variation; None where the expert does not succeed."""
        vector = self._odd_start(self.env.reset(0, index), rng)
        show, phase, end = Show([vector[:4]], [], {}), int(rng.integers(FRAME_EVERY)), LONGEST
        for step in range(LONGEST):
            if step in (0, end) or step % FRAME_EVERY == phase:
                show.images[step] = self.env.render()
            action = self.advice(vector)
            moved = self.env.step(action)
            vector = moved.observation
            show.actions.append(action)
            show.states.append(vector[:4])
            if moved.success:
                end = min(end, step + AFTERWARDS)
            if step >= end:
                return show
        return None

    def _odd_start(self, vector: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Where a demonstration begins: as the task does, somewhere else, or in the middle after a push."""
        kind = rng.random()
        if kind < 0.4:
            return vector
        if kind < 0.7:
            for _ in range(int(rng.integers(5, 60))):
                vector = self.env.step(self.advice(vector)).observation
            return self._walk(vector, int(rng.integers(4, 13)), rng)
        return self._walk(vector, int(rng.integers(5, 31)), rng)

    def _walk(self, vector: np.ndarray, steps: int, rng: np.random.Generator) -> np.ndarray:
        action = rng.uniform(-1.0, 1.0, 4).astype(np.float32)
        for _ in range(steps):
            vector = self.env.step(action).observation
        return vector


def collect(per_task: int, seed: int) -> Demos:
    """Up to `per_task` demonstrations of every task, in turn."""
    warnings.filterwarnings("ignore", message=r"Constant\(s\) may be too high")
    rng, started = np.random.default_rng(seed), time.perf_counter()
    stages = [Stage(task, per_task) for task in TASKS]
    shows: list[tuple[int, Show]] = []
    for index in range(per_task):
        made = [(task, stage.show(index, rng)) for task, stage in enumerate(stages)]
        shows += [(task, show) for task, show in made if show is not None]
        if (index + 1) % 10 == 0:
            images = sum(len(show.images) for _, show in shows)
            print(f"{len(shows)} demonstrations, {images} images, {time.perf_counter() - started:.0f} s", flush=True)
    return gathered(shows, [stage.instruction for stage in stages])


def gathered(shows: list[tuple[int, Show]], instructions: list[str]) -> Demos:
    """The shows of all tasks in one. Raises InputError where there is none."""
    if not shows:
        raise InputError("no expert has shown its task; ask for more with --per-task")
    images = [(demo, step, image) for demo, (_, show) in enumerate(shows) for step, image in show.images.items()]
    return Demos(
        image=np.stack([image for _, _, image in images]),
        frame_demo=np.array([demo for demo, _, _ in images]),
        frame_step=np.array([step for _, step, _ in images]),
        task=np.array([task for task, _ in shows]),
        length=np.array([len(show.actions) for _, show in shows]),
        states=np.concatenate([np.stack(show.states) for _, show in shows]).astype(np.float32),
        actions=np.concatenate([np.stack(show.actions) for _, show in shows]),
        instructions=np.array(instructions),
    )


def train(demos: Demos, arguments: argparse.Namespace) -> None:
    import torch
    from manipulation_learning import LearningCfg, fit

    from proctor.suites.metaworld import save_nets

    cfg = LearningCfg(steps=arguments.steps, batch=arguments.batch, seed=arguments.seed)
    about: dict[str, Any] = {
        "tasks": ", ".join(map(str, demos.instructions)),
        "camera": f"{CAMERA}, {SIZE} x {SIZE}",
        "trained": f"{len(demos)} demonstrations, {len(demos.image)} images, {cfg}, torch {torch.__version__}",
    }
    started = time.perf_counter()
    nets = fit(demos, NetCfg(image_size=SIZE), cfg, arguments.device, lambda line: print(line, flush=True))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    save_nets(nets, arguments.out, about)
    print(f"{arguments.out} ({arguments.out.stat().st_size / 1e6:.1f} MB), {time.perf_counter() - started:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    verbs = parser.add_subparsers(dest="verb", required=True)
    collecting = verbs.add_parser("collect", help="have the experts show their tasks")
    collecting.add_argument("demos", type=Path)
    collecting.add_argument("--per-task", type=int, default=100)
    training = verbs.add_parser("train", help="learn from what was shown")
    training.add_argument("demos", type=Path)
    training.add_argument("--device", default="cpu")
    training.add_argument("--steps", type=int, default=4_000)
    training.add_argument("--batch", type=int, default=512)
    training.add_argument("--out", type=Path, default=Path(__file__).parent / "checkpoints/manipulation.safetensors")
    arguments = parser.parse_args()
    if arguments.verb == "collect":
        collect(arguments.per_task, arguments.seed).save(arguments.demos)
    else:
        train(read_demos(arguments.demos), arguments)


if __name__ == "__main__":
    main()
