"""Skills on maps drawn by hand, and the agents that have them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import InputError
from proctor.policies.protocol import Batch, SpaceInfo
from proctor.spaces import to_gymnasium
from proctor.suites.crafter import skills
from proctor.suites.crafter.agents import Expert, Skilled, read_centroids
from proctor.suites.crafter.names import ACTIONS, DIRECTIONS, ITEMS
from proctor.suites.crafter.tasks import KIT, TASKS, TaskName
from proctor.testing import PolicyConformance
from proctor_host.trials import Trial

SYMBOLS = {".": "grass", "T": "tree", "S": "stone", "W": "water", "C": "cow", "Z": "zombie", "#": "lava", "@": "player"}


def drawn(*rows: str) -> np.ndarray:
    """A map [x, y] from rows of symbols, y downwards."""
    return np.array([[skills.CELL[SYMBOLS[symbol]] for symbol in row] for row in rows], np.uint8).T


def seen(*rows: str, facing: tuple[int, int] = (0, 1), **items: int) -> skills.Seen:
    cells = drawn(*rows)
    ((x, y),) = np.argwhere(cells == skills.CELL["player"])
    inventory = np.array([{**KIT, **items}.get(name, 0) for name in ITEMS], np.uint8)
    return skills.Seen(cells, (int(x), int(y)), facing, inventory)


def does(task: TaskName, view: skills.Seen, seed: int = 0) -> str:
    return ACTIONS[skills.act(task, view, 0, np.random.default_rng(seed))[0]]


def test_it_acts_on_what_it_faces() -> None:
    assert does("collect_wood", seen("@T", facing=(1, 0))) == "do"
    assert does("eat_cow", seen("C@", facing=(-1, 0))) == "do"
    assert does("place_table", seen("@.", facing=(1, 0))) == "place_table"
    assert does("place_plant", seen("@", ".")) == "place_plant"
    assert does("place_stone", seen("@", ".")) == "place_stone"


def test_it_turns_to_what_is_beside_it() -> None:
    assert does("collect_wood", seen("@T")) == "move_right"
    assert does("collect_drink", seen("W", "@")) == "move_up"


def test_it_goes_the_shortest_way_round() -> None:
    assert does("collect_wood", seen("@WT", "...")) == "move_down"
    assert does("collect_wood", seen("T.@..T", "......")) == "move_left"


def test_it_walks_neither_into_lava_nor_out_of_the_world() -> None:
    assert does("collect_wood", seen("@#T", ".##", "..."), seed=3) == "move_down"
    assert does("collect_wood", seen("@#T")) == "noop"
    assert does("collect_wood", seen("@")) == "noop"


def test_it_does_nothing_with_empty_hands() -> None:
    assert does("place_table", seen("@", "."), 0) == "place_table"
    assert does("place_table", seen("@", ".", wood=0)) == "noop"
    assert does("collect_stone", seen("@", "S", wood_pickaxe=0)) == "noop"


def test_sleeping_needs_no_place() -> None:
    assert does("wake_up", seen("@")) == "sleep"


def test_it_wanders_where_it_sees_nothing_and_keeps_its_heading() -> None:
    view, rng = seen("...", ".@.", "..."), np.random.default_rng(0)
    heading, moves = 2, []
    for _ in range(50):
        move, heading = skills.act("eat_cow", view, heading, rng)
        moves.append(move)
    assert set(moves) <= set(skills.MOVES)
    assert len(set(moves)) > 1
    assert sum(a == b for a, b in itertools.pairwise(moves)) > 35


def walked(cells: np.ndarray, start: tuple[int, int], target: int) -> int | None:
    """How many moves `first_move` needs until it stands beside the target and turns to it; None: it sees no way."""
    here, steps = start, 0
    while (move := skills.first_move(cells, here, target)) is not None:
        dx, dy = DIRECTIONS[ACTIONS[move]]
        here, steps = (here[0] + dx, here[1] + dy), steps + 1
        if cells[here] == target:
            return steps
        assert skills.WALKABLE[cells[here]]
        assert steps <= cells.size
    return None


def distance(cells: np.ndarray, start: tuple[int, int], target: int) -> int | None:
    """The same by relaxation over all cells."""
    far = cells.size + 1
    cost = np.full(np.add(cells.shape, 2), far)
    cost[start[0] + 1, start[1] + 1] = 0
    inner, open_ = cost[1:-1, 1:-1], skills.WALKABLE[cells]
    for _ in range(cells.size):
        beside = np.minimum.reduce([cost[:-2, 1:-1], cost[2:, 1:-1], cost[1:-1, :-2], cost[1:-1, 2:]]) + 1
        inner[open_] = np.minimum(inner, beside)[open_]
    beside = np.minimum.reduce([cost[:-2, 1:-1], cost[2:, 1:-1], cost[1:-1, :-2], cost[1:-1, 2:]]) + 1
    best = beside[cells == target].min(initial=far)
    return None if best >= far else int(best)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(2, 6), st.floats(0.1, 0.6))
def test_ways_are_shortest_on_any_map(seed: int, width: int, height: int, walls: float) -> None:
    rng = np.random.default_rng(seed)
    kinds = [skills.CELL[name] for name in ("grass", "stone", "tree")]
    cells = rng.choice(kinds, (width, height), p=[0.9 - walls, walls, 0.1]).astype(np.uint8)
    start = (int(rng.integers(width)), int(rng.integers(height)))
    cells[start] = skills.CELL["player"]
    assert walked(cells, start, kinds[2]) == distance(cells, start, kinds[2])


def observation(views: list[skills.Seen], **more: np.ndarray) -> dict[str, Any]:
    return {
        "local": np.stack([view.cells for view in views]),
        "facing": np.array([view.facing for view in views], np.int8),
        "inventory": np.stack([view.inventory for view in views]),
        **more,
    }


def batch(views: list[skills.Seen], tasks: list[str], **more: np.ndarray) -> Batch:
    trials = [Trial("agent", task, row, row) for row, task in enumerate(tasks)]
    state = np.zeros(len(trials), np.int64)
    return Batch(observation(views, **more), state, [trial.policy_rng() for trial in trials], trials)


AROUND = ("..T", "W@.", "..C")


def test_an_expert_does_the_task_of_its_name() -> None:
    tasks = ["collect_wood", "collect_drink", "wake_up", "lunch"]
    spaces = SpaceInfo(observation=dict.fromkeys(tasks))
    expert = Expert(spaces, skills={"lunch": "eat_cow"})
    answer = expert.act(batch([seen(*AROUND)] * 4, tasks))
    assert [ACTIONS[a] for a in answer.actions] == ["move_right", "move_left", "sleep", "move_right"]


def test_an_expert_without_the_skill_says_how_to_name_one() -> None:
    spaces = SpaceInfo(observation={"lunch": None})
    with pytest.raises(InputError, match=r'no skill "lunch".*kwargs: \{skills: \{TASK: SKILL\}\}'):
        Expert(spaces)


def centroids_file(folder: Path, names: list[str], centroids: np.ndarray) -> str:
    numpy_files = pytest.importorskip("safetensors.numpy")
    path = folder / "skills.safetensors"
    numpy_files.save_file({"centroids": centroids}, path, metadata={"skills": json.dumps(names)})
    return str(path)


def test_the_skilled_follow_the_goal_whatever_the_task_is_called(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    centroids = rng.normal(size=(len(TASKS), 8)).astype(np.float32)
    skilled = Skilled(centroids_file(tmp_path, list(TASKS), centroids))
    for number, task in enumerate(TASKS):
        assert skilled.skill(7.0 * centroids[number]) == task
    meant: list[TaskName] = ["wake_up", "collect_drink", "place_table"]
    goals = np.stack([centroids[TASKS.index(task)] for task in meant])
    view = seen(*AROUND)
    answer = skilled.act(batch([view] * 3, ["collect_wood", "", "wake_up"], goal=goals))
    assert [ACTIONS[a] for a in answer.actions] == ["sleep", "move_left", "place_table"]


def spaces_of(**more: Any) -> Dict:
    from proctor.suites.crafter.env import observation_space_of
    from proctor.suites.crafter.suite import CrafterOptions

    options = CrafterOptions(privileged=True, image=False, area=24)
    return Dict({**to_gymnasium(observation_space_of(options)).spaces, **more})


class TestExpert(PolicyConformance):
    observation_space: ClassVar[Any] = spaces_of()
    action_space: ClassVar[Any] = Discrete(len(ACTIONS))
    task: ClassVar[str] = "eat_cow"

    def make(self) -> Expert:
        return Expert(SpaceInfo(observation={"eat_cow": self.observation_space}))


class TestSkilled(PolicyConformance):
    observation_space: ClassVar[Any] = spaces_of(goal=Box(-1.0, 1.0, (8,), np.float32))
    action_space: ClassVar[Any] = Discrete(len(ACTIONS))

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        centroids = np.random.default_rng(0).normal(size=(len(TASKS), 8)).astype(np.float32)
        self.path = centroids_file(tmp_path, list(TASKS), centroids)

    def make(self) -> Skilled:
        return Skilled(self.path)


def test_a_goal_of_another_size_is_refused(tmp_path: Path) -> None:
    skilled = Skilled(centroids_file(tmp_path, ["wake_up"], np.ones((1, 8), np.float32)))
    with pytest.raises(InputError, match=r"goal of shape \(5,\); the checkpoint's skills have \(8,\)"):
        skilled.skill(np.ones(5, np.float32))


def test_a_file_without_skills_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="the extra `crafter` is not installed")
    wrong = tmp_path / "wrong.safetensors"
    wrong.write_bytes(b"not safetensors")
    for path in (wrong, tmp_path / "missing.safetensors"):
        with pytest.raises(InputError, match=r"has no skills .*expected safetensors with a tensor `centroids`"):
            read_centroids(str(path))
    with pytest.raises(InputError, match='no skill "fly"'):
        read_centroids(centroids_file(tmp_path, ["fly"], np.ones((1, 8), np.float32)))
