"""How rows of a forward are rounded, and what it costs to compute them alone.

`python -m benchmarks.rounding` prints a row for each network on the CPU: how many of 64 rows differ from one row alone
when they are computed 16 at a time; in how many of the 16 places a row differs from the first; whether two threads give
other bytes than one; and how long 16 forwards of one row (`pad_to: 1`) take next to one forward of 16 (`pad_to: 16`),
the quickest of many that take turns. Needs the extras `torch`, `onnx` and `dev`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from proctor.threads import pinned

ROWS, SAMPLE = 16, 64
HEAD = (
    "| network | other than alone | places that matter | 2 threads | 16 alone / 16 at a time |\n|---|---|---|---|---|"
)

Forward = Callable[[np.ndarray], np.ndarray]


class Encoder(nn.Module):
    """A transformer over nine tokens."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.embed, self.head = nn.Linear(17, 64), nn.Linear(64, 7)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.embed(tokens)).mean(1))


class Recurrent(nn.Module):
    """An LSTM over five steps."""

    def __init__(self) -> None:
        super().__init__()
        self.memory, self.head = nn.LSTM(17, 64, batch_first=True), nn.Linear(64, 3)

    def forward(self, steps: torch.Tensor) -> torch.Tensor:
        return self.head(self.memory(steps)[0][:, -1])


def mlp(observation: int, width: int, action: int) -> nn.Module:
    layers = [nn.Linear(observation, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, action)]
    return nn.Sequential(*layers)


def convolutional() -> nn.Module:
    eyes = [nn.Conv2d(3, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.Flatten()]
    return nn.Sequential(*eyes, nn.Linear(1152, 64), nn.ReLU(), nn.Linear(64, 5))


def networks() -> dict[str, tuple[Forward, tuple[int, ...]]]:
    """Forwards by name, with the shape of an observation."""
    torch.manual_seed(0)
    made = {
        "torch MLP 17-64-64-6": (mlp(17, 64, 6), (17,)),
        "torch MLP 376-256-256-17": (mlp(376, 256, 17), (376,)),
        "torch MLP 5-33-33-3": (mlp(5, 33, 3), (5,)),
        "torch convolutions, 64 x 64 pixels": (convolutional(), (3, 64, 64)),
        "torch transformer, 9 tokens": (Encoder(), (9, 17)),
        "torch LSTM, 5 steps": (Recurrent(), (5, 17)),
    }
    rng = np.random.default_rng(0)
    first, second = (rng.standard_normal(shape).astype(np.float32) for shape in ((17, 64), (64, 6)))
    by_hand: Forward = lambda seen: np.tanh(seen @ first) @ second  # noqa: E731 - as a user writes it
    return {name: (_forward(net.eval()), shape) for name, (net, shape) in made.items()} | {
        "numpy MLP 17-64-6": (by_hand, (17,)),
        "onnxruntime MLP 17-64-6": (_exported(first, second), (17,)),
    }


def _exported(first: np.ndarray, second: np.ndarray) -> Forward:
    """The same in onnxruntime, with one thread as the `onnx` loader has it."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    layers = [("MatMul", ["seen", "first"], ["a"]), ("Tanh", ["a"], ["b"]), ("MatMul", ["b", "second"], ["action"])]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", size])
        for name, size in (("seen", len(first)), ("action", second.shape[1]))
    ]
    weights = [numpy_helper.from_array(first, "first"), numpy_helper.from_array(second, "second")]
    graph = helper.make_graph([helper.make_node(*layer) for layer in layers], "mlp", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    return lambda seen: np.asarray(session.run(None, {"seen": seen})[0])


def _forward(net: nn.Module) -> Forward:
    def forward(seen: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return net(torch.from_numpy(seen)).numpy()

    return forward


def blocks(forward: Forward, seen: np.ndarray, size: int) -> np.ndarray:
    """The answers for all rows, so many at a time."""
    return np.concatenate([forward(seen[i : i + size]) for i in range(0, len(seen), size)])


def measure(forward: Forward, shape: tuple[int, ...], repeats: int) -> str:
    """The cells of a network's row."""
    seen = np.random.default_rng(1).standard_normal((SAMPLE, *shape)).astype(np.float32)
    with pinned(1):
        alone, together = blocks(forward, seen, 1), blocks(forward, seen, ROWS)
        repeated = forward(np.repeat(seen[:1], ROWS, axis=0))
        ratio = cost(forward, seen[:ROWS], repeats)
    with pinned(2):
        two = blocks(forward, seen, ROWS), blocks(forward, seen, 1)
    differ = _rows_that_differ(together, alone)
    places = _rows_that_differ(repeated, np.broadcast_to(repeated[0], repeated.shape))
    threads = [said for said, found, was in zip(("of 16", "alone"), two, (together, alone), strict=True)
               if not np.array_equal(found, was)]  # fmt: skip
    return f"{differ / SAMPLE:.0%} | {places} of {ROWS} | {' and '.join(threads) or 'the same'} | {ratio:.1f}"


def cost(forward: Forward, seen: np.ndarray, repeats: int) -> float:
    """How many times as long one row after the other takes. What else the machine does only ever adds to a time, so the
    quickest of each are compared."""

    def seconds(size: int) -> float:
        began = time.perf_counter()
        blocks(forward, seen, size)
        return time.perf_counter() - began

    alone, together = zip(*((seconds(1), seconds(ROWS)) for _ in range(repeats)), strict=True)
    return min(alone) / min(together)


def _rows_that_differ(found: np.ndarray, expected: np.ndarray) -> int:
    return int((found != expected).reshape(len(found), -1).any(axis=1).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200)
    repeats = parser.parse_args().repeats
    print(HEAD)
    for name, (forward, shape) in networks().items():
        print(f"| {name} | {measure(forward, shape, repeats)} |", flush=True)


if __name__ == "__main__":
    main()
