"""The global random generators: kept, and seeded."""

from __future__ import annotations

import random

import numpy as np
import pytest

from proctor.generators import kept_generators, seed_generators


def drawn() -> tuple[float, float]:
    return random.random(), float(np.random.random())  # noqa: NPY002 - the global generators are what is looked at


def test_seeding_decides_what_comes_next() -> None:
    with kept_generators():
        found = []
        for seed in (3, 3, 4):
            seed_generators(seed)
            found.append(drawn())
    assert found[0] == found[1] != found[2]


def test_they_are_as_before_also_after_an_exception() -> None:
    with kept_generators():
        seed_generators(0)
        expected = drawn()
        seed_generators(0)
        with pytest.raises(ValueError, match="Seed"), kept_generators():
            seed_generators(-1)
        assert drawn() == expected


def test_torch_is_kept_and_seeded_too() -> None:
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    with kept_generators():
        seed_generators(5)
        first = torch.rand(3)
        with kept_generators():
            seed_generators(5)
            assert torch.equal(torch.rand(3), first)
        seed_generators(5)
        assert torch.equal(torch.rand(3), first)
