"""The metrics of many episodes are those of each, whoever can compute them together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from proctor.errors import InputError
from proctor.metrics import compute, compute_many
from proctor.metrics.registry import beside
from proctor_host.episode import Episode, Outcome

OWN = '''
from proctor import GroupMetric, Metric

class Peak(Metric):
    """The largest reward."""
    name, unit, direction, needs, beside = "peak", "1", "up", ("height",), True
    calls = []
    def __call__(self, episode):
        return float(episode.arrays["height"].max())
    def many(self, episodes):
        self.calls.append(len(episodes))
        return [self(episode) for episode in episodes]

class Few(Peak):
    name = "few"
    def many(self, episodes):
        return [self(episode) for episode in episodes][1:]

class Picky(Peak):
    name = "picky"
    def __call__(self, episode):
        if len(episode.arrays["height"]) == 3:
            raise ValueError("three")
        return 1.0

class Both(GroupMetric):
    direction, unit, asked = "up", "1", []
    @staticmethod
    def together(episode):
        Both.asked.append(len(episode.arrays["rewards"]))
        return {"low": float(episode.arrays["rewards"].min()), "tall": 1.0 if "height" in episode.arrays else None}

class Low(Both):
    """The smallest reward."""
    name = "low"

class Tall(Both):
    """Whether there is a height."""
    name, needs = "tall", ("height",)
'''


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def episode(n: int, tall: bool = True) -> Episode:
    arrays = {
        "actions": np.random.default_rng(n).normal(size=(n, 2)).astype(np.float32),
        "rewards": np.arange(n) - 2.0,
        "success": np.zeros(n, bool),
        "action_dt_s": np.array(0.1),
        **({"height": np.arange(n) * 0.5} if tall else {}),
    }
    return Episode(arrays, Outcome.FAILURE, max_steps=100)


def test_each_episode_has_its_own_metrics_in_their_order(base: Path) -> None:
    episodes = [episode(5), episode(7, tall=False), episode(2)]
    targets = ("own.py:Peak", "own.py:Low", "own.py:Tall")
    found = compute_many(episodes, targets, base)
    assert found == [compute(one, targets, base) for one in episodes]
    assert [list(one) for one in found] == [list(compute(one, targets, base)) for one in episodes]
    assert [one.get("peak") for one in found] == [2.0, None, 0.5]
    assert "tall" not in found[1]
    assert compute_many([], targets, base) == []


def test_a_metric_is_asked_once_for_the_episodes_that_have_what_it_needs(base: Path) -> None:
    from proctor.metrics.registry import find_metrics

    (peak,) = (metric for metric in find_metrics(("own.py:Peak",), base) if metric.name == "peak")
    compute_many([episode(5), episode(7, tall=False), episode(2)], ("own.py:Peak",), base)
    assert vars(type(peak))["calls"] == [2]


def test_a_group_is_computed_once_for_each_episode(base: Path) -> None:
    from proctor.metrics.registry import find_metrics

    targets = ("own.py:Tall", "own.py:Low")
    (low,) = (metric for metric in find_metrics(targets, base) if metric.name == "low")
    compute_many([episode(5), episode(7, tall=False), episode(2)], targets, base)
    assert type(low).__mro__[1].__dict__["asked"] == [5, 2, 7]


def test_the_episode_that_breaks_a_metric_is_named(base: Path) -> None:
    with pytest.raises(InputError, match='"picky" failed on an episode of 3 steps: ValueError: three'):
        compute_many([episode(5), episode(3), episode(2)], ("own.py:Picky",), base)


def test_a_metric_that_forgets_an_episode_is_refused(base: Path) -> None:
    with pytest.raises(InputError, match='"few" failed on an episode of 5 steps: ValueError: zip'):
        compute_many([episode(5), episode(3)], ("own.py:Few",), base)


def test_what_is_computed_beside_other_work(base: Path) -> None:
    assert not beside(episode(5))
    assert beside(episode(5), ("own.py:Peak",), base)
    assert not beside(episode(5, tall=False), ("own.py:Peak",), base)
