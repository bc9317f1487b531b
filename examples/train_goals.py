"""Trains the goal model of examples/goals.yml: examples/checkpoints/goals.safetensors.

    python examples/train_goals.py

An expert does each task of the crafter suite in many worlds; the last frames of its successes are what a goal should
look like. A text encoder and an encoder of pictures learn to tell which sentence goes with which pictures, among all of
a batch. Then, with both held fixed, the prior learns to answer a sentence with the pictures that go with it. The
sentences are others than the suite's instructions, and the worlds others than those of the example. Runs on a
CPU; needs the extras crafter and torch.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from proctor.suites.crafter import INSTRUCTIONS, TASKS, CrafterEnv, CrafterOptions, TaskName, skills
from proctor.suites.goals import Checkpoint, nets, tiles, word_counts, write_checkpoint

TARGET = Path(__file__).parent / "checkpoints" / "goals.safetensors"
FIRST_SEED = 1_000_000
"""Of training worlds: far from those that a config examines."""
LAST_FRAMES = 5
"""Windows that end with one of so many last frames of a success are pictures of it."""

SENTENCES: dict[TaskName, tuple[str, ...]] = {
    "collect_wood": (
        "collect wood", "harvest wood from trees", "fell the nearest tree", "hit the tree until you have a log",
        "bring me timber", "cut some logs in the forest", "chop wood",
    ),
    "collect_stone": (
        "collect stone", "mine rock", "use your pickaxe on the stone", "dig into the mountain",
        "break a block of rock", "hack a piece out of the grey mountain", "mine cobblestone",
    ),
    "collect_sapling": (
        "gather a sapling", "look for a sapling in the grass", "pick a seedling in the meadow",
        "collect a shoot from the grass", "search the ground for a young sapling", "get a seedling", "find a sapling",
    ),
    "collect_drink": (
        "drink", "drink from the lake", "collect a drink of water", "go to the water", "you are thirsty",
        "sip from the river", "quench thirst with water",
    ),
    "eat_cow": (
        "eat cow", "eat some meat", "kill a cow and eat it", "you are hungry find beef", "hunt for a meal",
        "have a cow for dinner", "get meat from the cow",
    ),
    "defeat_zombie": (
        "beat the zombie", "fight a zombie", "slay the undead", "defeat the monster", "attack a green zombie",
        "kill the monster", "hit the zombie until it falls",
    ),
    "place_table": (
        "put a table down", "place your crafting table", "build a table", "set up the workbench",
        "make a table with wood", "craft a bench", "place a workbench",
    ),
    "place_plant": (
        "place the plant", "plant it in the earth", "put your seedling into the soil", "plant the young sapling",
        "grow a sapling", "set a plant into the grass", "plant a tree",
    ),
    "place_stone": (
        "put a stone down", "place the block", "lay a stone in front of you", "build with stone", "place a rock",
        "set down a block as a wall", "put stone on the ground",
    ),
    "wake_up": (
        "sleep", "go to sleep", "rest", "take a rest in bed", "sleep and get up", "nap until you wake up",
        "sleep until awake with full energy",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Pictures:
    """`windows`: uint8 (n, window, height, width, 3); `labels` (n,): which task; `worlds` (n,): which seed."""

    windows: np.ndarray
    labels: np.ndarray
    worlds: np.ndarray


def collect(worlds: int, architecture: nets.Architecture) -> Pictures:
    """Windows of the expert's successes, in so many worlds. In every other one it first walks about at random."""
    envs = [CrafterEnv(CrafterOptions(task=task, privileged=True)) for task in TASKS]
    found: list[tuple[np.ndarray, int, int]] = []
    for seed in range(FIRST_SEED, FIRST_SEED + worlds):
        for label, env in enumerate(envs):
            rng = np.random.default_rng([seed, label])
            walk = int(rng.integers(12)) * (seed % 2)
            frames = success(env, TASKS[label], seed, walk, rng)
            found += [(window, label, seed) for window in last_windows(frames, architecture.window, walk)]
        if (seed + 1) % 20 == 0:
            print(f"{seed + 1 - FIRST_SEED} worlds, {len(found)} windows", flush=True)
    windows, labels, seeds = zip(*found, strict=True)
    return Pictures(np.stack(windows), np.array(labels), np.array(seeds))


def success(env: CrafterEnv, task: TaskName, seed: int, walk: int, rng: np.random.Generator) -> list[np.ndarray]:
    """The frames of a trial, from the first to that of its success; none where it failed."""
    seen, heading = env.reset(seed, 0), 0
    frames = [seen["image"]]
    for number in range(walk + 100):
        action, heading = skills.act(task, view(seen), heading, rng)
        if number < walk:
            action = int(rng.choice(skills.MOVES))
        step = env.step(action)
        seen = step.observation
        frames.append(seen["image"])
        if step.terminated:
            return frames if step.success else []
    return []


def view(seen: dict[str, Any]) -> skills.Seen:
    x, y = seen["privileged"]["position"]
    dx, dy = seen["facing"]
    return skills.Seen(seen["privileged"]["map"], (int(x), int(y)), (int(dx), int(dy)), seen["inventory"])


def last_windows(frames: list[np.ndarray], length: int, walk: int = 0) -> list[np.ndarray]:
    """The windows that end with the last frames; the first frame stands for those before it. Up to the frame `walk`,
    where the expert sets out, there are no pictures of success."""
    ends = range(max(walk + 1, len(frames) - LAST_FRAMES), len(frames))
    return [np.stack([frames[max(0, end - length + 1 + i)] for i in range(length)]) for end in ends]


class Trainer:
    """Trains with Adam; a batch has `each` windows and sentences of every task."""

    def __init__(self, pictures: Pictures, architecture: nets.Architecture, seed: int, each: int = 12):
        import torch

        self._torch, self._architecture, self._each = torch, architecture, each
        self._rng = np.random.default_rng(seed)
        layers = (*nets.VISUAL, *nets.TEXT, *nets.PRIOR)
        first = nets.initial_weights(architecture, layers, self._rng)
        self.weights = {name: torch.tensor(value, requires_grad=True) for name, value in first.items()}
        self._windows, self._of_task = pictures.windows, [
            np.flatnonzero(pictures.labels == label) for label in range(len(TASKS))
        ]  # fmt: skip

    def train(self, steps: int, prior_steps: int) -> dict[str, np.ndarray]:
        """The encoders against each other, then the prior against the encoder of pictures. float32 weights."""
        self._fit("encoders", (*nets.VISUAL, *nets.TEXT), self._contrast, steps)
        self._fit("prior", nets.PRIOR, self._regress, prior_steps)
        return {name: value.detach().numpy() for name, value in self.weights.items()}

    def _fit(self, what: str, layers: tuple[str, ...], loss_of: Any, steps: int) -> None:
        parameters = [value for name, value in self.weights.items() if name.partition(".")[0] in layers]
        optimiser = self._torch.optim.AdamW(parameters, lr=1e-3, weight_decay=1e-2)
        schedule = self._torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        for step in range(1, steps + 1):
            loss = loss_of(*self._batch())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            if step % 100 == 0:
                print(f"{what}, step {step}: loss {loss.item():.4f}", flush=True)

    def _batch(self) -> tuple[Any, Any, Any]:
        """Tiles, word counts and which task they are of; row i of one and row i of the other are of one task."""
        labels = np.repeat(np.arange(len(TASKS)), self._each)
        chosen = np.concatenate([self._rng.choice(rows, self._each) for rows in self._of_task])
        texts = [self._sentence(TASKS[label]) for label in labels]
        cut = tiles(self._windows[chosen], self._architecture.tile_side)
        counts = word_counts(texts, self._architecture.buckets)
        return self._torch.from_numpy(cut), self._torch.from_numpy(counts), self._torch.from_numpy(labels)

    def _sentence(self, task: TaskName) -> str:
        """A sentence without some of its words, so that no single one decides."""
        text = SENTENCES[task][self._rng.integers(len(SENTENCES[task]))]
        words = text.split()
        kept = [word for word, draw in zip(words, self._rng.random(len(words)), strict=True) if draw > 0.2]
        return " ".join(kept) or text

    def _contrast(self, cut: Any, counts: Any, labels: Any, temperature: float = 0.1) -> Any:
        """Cross entropy both ways: among all texts of the batch those of the picture's task, and among all pictures
        those of the text's task."""
        pictures = nets.encode_pictures(self.weights, cut)
        logits = pictures @ nets.encode_texts(self.weights, counts).T / temperature
        same = (labels[:, None] == labels[None]).float()
        wanted = same / same.sum(1, keepdim=True)
        entropy = self._torch.nn.functional.cross_entropy
        return entropy(logits, wanted) + entropy(logits.T, wanted)

    def _regress(self, cut: Any, counts: Any, labels: Any) -> Any:
        """One minus the cosine between a goal and a picture of the same task."""
        with self._torch.no_grad():
            pictures = nets.encode_pictures(self.weights, cut)
            texts = nets.encode_texts(self.weights, counts)
        return 1 - (nets.imagine(self.weights, texts) * pictures).sum(1).mean()


def embed(weights: nets.Weights, pictures: Pictures, architecture: nets.Architecture) -> np.ndarray:
    """Embeddings of windows (n, dim)."""
    blocks = np.array_split(pictures.windows, max(1, len(pictures.windows) // 256))
    return np.concatenate([nets.encode_pictures(weights, tiles(block, architecture.tile_side)) for block in blocks])


def mean_directions(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Of every task (tasks, dim), rows of length 1."""
    means = np.stack([vectors[labels == label].mean(axis=0) for label in range(len(TASKS))])
    return (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)


def judge(checkpoint: Checkpoint, pictures: Pictures) -> None:
    """Print how well pictures of other worlds, and the suite's instructions, find their task."""
    vectors = embed(checkpoint.weights, pictures, checkpoint.architecture)
    right = (vectors @ checkpoint.centroids.T).argmax(axis=1) == pictures.labels
    counts = word_counts([t for task in TASKS for t in INSTRUCTIONS[task]], checkpoint.architecture.buckets)
    goals = nets.imagine(checkpoint.weights, nets.encode_texts(checkpoint.weights, counts))
    meant = np.repeat(np.arange(len(TASKS)), 5)
    found = (goals @ checkpoint.centroids.T).argmax(axis=1)
    same = meant[:, None] == pictures.labels[None]
    cosine = (goals @ vectors.T)[same].mean()
    print(f"pictures of held-out worlds: {right.mean():.3f} nearest to their own task")
    print(f"the suite's instructions: {(found == meant).mean():.3f} nearest to their own task, cosine {cosine:.3f}")
    for text, goal, task in zip((t for k in TASKS for t in INSTRUCTIONS[k]), found, meant, strict=True):
        if goal != task:
            print(f'  "{text}" is taken for {TASKS[goal]}')


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Train the goal model of examples/goals.yml.")
    parser.add_argument("--worlds", type=int, default=240, help="worlds to collect successes in")
    parser.add_argument("--steps", type=int, default=1200, help="batches for the encoders")
    parser.add_argument("--prior-steps", type=int, default=600, help="batches for the prior")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", type=Path, default=TARGET)
    chosen = parser.parse_args(arguments)
    architecture = nets.Architecture()
    pictures = collect(chosen.worlds, architecture)
    held_out = pictures.worlds >= FIRST_SEED + round(0.9 * chosen.worlds)
    parts = [Pictures(pictures.windows[k], pictures.labels[k], pictures.worlds[k]) for k in (~held_out, held_out)]
    weights = Trainer(parts[0], architecture, chosen.seed).train(chosen.steps, chosen.prior_steps)
    centroids = mean_directions(embed(weights, parts[0], architecture), parts[0].labels)
    checkpoint = Checkpoint(architecture, weights, TASKS, centroids)
    judge(checkpoint, parts[1])
    write_checkpoint(chosen.target, checkpoint)
    print(f"{chosen.target}: {chosen.target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
