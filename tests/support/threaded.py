"""Policies of torch whose answers tell how many threads they were computed with. Workers import this file by its
path."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import torch

from proctor import Batch, Policy


def threads_here() -> int:
    """What a parallel region that begins on this thread would use."""
    found = re.search(r"omp_get_max_threads\(\) : (\d+)", torch.__config__.parallel_info())
    assert found is not None
    return int(found[1])


class Counting(Policy):
    """Acts by the number of threads, and notes it in a file. It asks for seven when it is made, as some do."""

    def __init__(self, notes: str | None = None):
        self.notes = None if notes is None else Path(notes)
        torch.set_num_threads(7)

    def act(self, batch: Batch) -> np.ndarray:
        number = threads_here()
        if self.notes is not None:
            with self.notes.open("a") as file:
                file.write(f"{number}\n")
        return np.tanh(batch.observation[:, :2] / number)


class Attentive(Policy):
    """A small transformer and a convolution, with weights from a seed: kernels that share their sums among threads."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.embed = torch.nn.Conv1d(1, 64, 3, padding=1)
        self.encode = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = torch.nn.Linear(64, 2)
        for part in (self.embed, self.encode, self.head):
            part.eval()
            for weights in part.parameters():
                torch.nn.init.normal_(weights, std=0.2, generator=generator)

    def act(self, batch: Batch) -> np.ndarray:
        with torch.inference_mode():
            rows = torch.from_numpy(np.array(batch.observation))[:, None]
            seen = self.encode(self.embed(rows).transpose(1, 2)).mean(1)
            return torch.tanh(self.head(seen)).numpy()


class OddWidth(Policy):
    """A network whose layers fill no whole number of vector registers: on some processors, torch rounds its rows by
    their place."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        layers = [torch.nn.Linear(6, 33), torch.nn.Tanh(), torch.nn.Linear(33, 33), torch.nn.Tanh()]
        self.net = torch.nn.Sequential(*layers, torch.nn.Linear(33, 2))
        for weights in self.net.parameters():
            torch.nn.init.normal_(weights, std=0.4, generator=generator)

    def act(self, batch: Batch) -> np.ndarray:
        with torch.inference_mode():
            return torch.tanh(self.net(torch.from_numpy(np.array(batch.observation)))).numpy()
