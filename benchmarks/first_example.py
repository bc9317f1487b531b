"""The README's first example and the loop that one would write instead: `python -m benchmarks.first_example`.

Each side is a process of its own, from the first import to the end, and both run in turn. What is measured is processor
time, of the process and of all that it has started, and time by the clock. The loop has one environment, asks for one
action at a time and keeps a list of returns. Proctor gives every trial its seed, records every step, writes a ledger,
tables and a report with intervals.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from statistics import median

from benchmarks.sides import ROOT, environment
from benchmarks.table import Row, markdown

CHECKPOINT = ROOT / "examples" / "checkpoints" / "cartpole.onnx"
TRIALS = 100

_ONNX = f"""
import onnxruntime
session = onnxruntime.InferenceSession({str(CHECKPOINT)!r})
entry = session.get_inputs()[0].name
def act(observation):
    return int(session.run(None, {{entry: observation[None].astype("float32")}})[0].argmax())
"""
_TORCH = """
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh(),
                          torch.nn.Linear(64, 2)).eval()
with torch.no_grad():
    net[4].weight[:] = torch.tensor([[-1.0], [1.0]])
    net[0].weight[:, 2:] = net[0].weight[:, 2:].abs() * 4
    net[2].weight[:] = net[2].weight.abs()
def act(observation):
    with torch.inference_mode():
        return int(net(torch.from_numpy(observation)[None]).argmax())
"""
_LOOP = """
import gymnasium, numpy as np
env = gymnasium.make("CartPole-v1")
returns = []
for seed in range(123, 123 + {n}):
    observation, _ = env.reset(seed=seed)
    total, done = 0.0, False
    while not done:
        observation, reward, terminated, truncated, _ = env.step(act(observation))
        total, done = total + reward, terminated or truncated
    returns.append(total)
print(len(returns), np.mean(returns), np.std(returns))
"""
_EVALUATE = """
import proctor
run = proctor.evaluate({policy}, "CartPole-v1", n={n}, out={out!r}, progress=False)
print(run.frame("numpy")["episode_reward"].size, run.verdict)
"""
_SB3 = """
import torch
torch.set_num_threads(1)
from stable_baselines3 import PPO
model = PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu")
net = model.policy.mlp_extractor.policy_net
with torch.no_grad():
    model.policy.action_net.weight[:] = torch.tensor([[-1.0], [1.0]])
    net[0].weight[:, 2:] = net[0].weight[:, 2:].abs() * 4
    net[2].weight[:] = net[2].weight.abs()
def act(observation):
    return int(model.predict(observation, deterministic=True)[0])
"""
POLICIES = {
    "a Stable-Baselines3 model": (_SB3, "model", _SB3),
    "a torch module": (_TORCH, "net", _TORCH),
    "an ONNX file": (_ONNX, repr(str(CHECKPOINT)), ""),
}
"""What stands before the loop, what `evaluate` is given, and what stands before that."""


def measured(code: str) -> tuple[float, float]:
    """Seconds of processor time and by the clock that Python takes for this code, its children included."""
    began, before = time.perf_counter(), os.times()
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"a side of the first example failed:\n{done.stderr}")
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, time.perf_counter() - began


def first_example(repeats: int, trials: int = TRIALS) -> Iterator[Row]:
    """`proctor.evaluate` of the README, and the loop that it replaces."""
    for name, (made, policy, given) in POLICIES.items():
        ours, theirs = [], []
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(repeats):
                ours.append(measured(given + _EVALUATE.format(policy=policy, n=trials, out=folder)))
                theirs.append(measured(made + _LOOP.format(n=trials)))
        for place, kind in enumerate(("processor", "clock")):
            ratio = median(a[place] / b[place] for a, b in zip(ours, theirs, strict=True))
            values = median(a[place] for a in ours), median(b[place] for b in theirs)
            title = f"first example, {name}, {trials:,} trials, {kind}"
            yield Row(title, *values, "a loop by hand", "s", "at most 1", ratio <= 1, ratio)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_example", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--trials", type=int, default=TRIALS)
    arguments = parser.parse_args()
    print(markdown(list(first_example(arguments.repeats, arguments.trials))))


if __name__ == "__main__":
    main()
