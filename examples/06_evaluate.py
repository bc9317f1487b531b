"""One call for what you have in hand: functions, a network in memory, an environment of your own.

python examples/06_evaluate.py
"""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np

import proctor

CHECKPOINT = Path(__file__).parent / "checkpoints" / "cartpole.onnx"


def lean(observation: np.ndarray) -> int:
    """A function of one observation."""
    return int(observation[2] + observation[3] > 0)


def timid(observations: np.ndarray) -> np.ndarray:
    """A function of a batch: its parameter is called `observations`, so it is given rows."""
    return (observations[:, 2] > 0.05).astype(int)


class Hesitant:
    """Remembers its last action, so its class is given: every trial gets an object of its own."""

    def reset(self) -> None:
        self.last = 0

    def act(self, observation: np.ndarray) -> int:
        if abs(observation[2]) > 0.02:
            self.last = int(observation[2] > 0)
        return self.last


def make_cartpole() -> gymnasium.Env:
    return gymnasium.make("CartPole-v1")


def main() -> None:
    agents = {"lean": lean, "timid": timid, "hesitant": Hesitant, "network": str(CHECKPOINT), "random": "random"}
    run = proctor.evaluate(agents, {"cartpole": make_cartpole}, n=20, success=475, name="in-memory")
    print(run)

    rewards = run.signals("lean/cartpole/3")["rewards"]
    print(f"\nlean, trial 3: {len(rewards)} steps, return {rewards.sum():g}")
    print(run.plot.success())
    print(f"{len(run.frame('numpy')['seed'])} rows, read again: {proctor.Run.open(run.path).verdict == run.verdict}")


if __name__ == "__main__":
    main()
