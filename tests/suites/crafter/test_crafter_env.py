"""Crafter as the engine sees it: the same seed gives the same episode, wherever it runs and whoever looks."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

crafter = pytest.importorskip("crafter")

from proctor.suites import find_suite  # noqa: E402
from proctor.suites.crafter import names  # noqa: E402
from proctor.suites.crafter.env import ENLARGED, CrafterEnv  # noqa: E402
from proctor.suites.crafter.simulator import OrderedSet, landscape  # noqa: E402
from proctor.suites.crafter.suite import CrafterOptions  # noqa: E402
from proctor.suites.crafter.tasks import INSTRUCTIONS, KIT, TASKS  # noqa: E402
from proctor.testing import EnvConformance  # noqa: E402

ACTION = names.ACTIONS.index


def make(**options: Any) -> CrafterEnv:
    return CrafterEnv(CrafterOptions.model_validate(options))


class TestConformance(EnvConformance):
    steps = 25

    def make(self) -> CrafterEnv:
        return make(privileged=True)


PLAY = """
import hashlib
import numpy as np
from proctor.suites.crafter.env import CrafterEnv
from proctor.suites.crafter.suite import CrafterOptions

env = CrafterEnv(CrafterOptions(task="eat_cow", image=False, privileged=True, area=40))
digest = hashlib.sha256()
for seed in (3, 11):
    env.reset(seed, 0)
    rng = np.random.default_rng(seed)
    for _ in range(120):
        step = env.step(int(rng.integers(1, 6)))
        for part in (step.observation["privileged"]["map"], step.observation["inventory"], step.reward):
            digest.update(np.asarray(part).tobytes())
        if step.terminated:
            break
print(digest.hexdigest())
"""


def test_processes_agree_whatever_their_hash_seed() -> None:
    """The first process also holds ten thousand objects, so that memory addresses differ."""
    fillers = ("keep = [object() for _ in range(10_000)]\n" + PLAY, PLAY)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for code, seed in zip(fillers, ("1", "4242"), strict=True)
    ]
    ends = [process.communicate(timeout=120) for process in started]
    assert all(process.returncode == 0 for process in started), ends
    assert ends[0][0] == ends[1][0]
    assert len(ends[0][0].strip()) == 64


def episode(env: CrafterEnv, seed: int, steps: int, *, looking: bool = False) -> str:
    digest = hashlib.sha256()
    env.reset(seed, 0)
    rng = np.random.default_rng(seed)
    for number in range(steps):
        step = env.step(int(rng.integers(1, 6)))
        if looking and number % 3 == 0:
            env.render()
        digest.update(step.signals["position"].tobytes() + step.observation["local"].tobytes())
        digest.update(step.signals["inventory"].tobytes())
        if step.terminated:
            break
    return digest.hexdigest()


def dark(env: CrafterEnv) -> CrafterEnv:
    """The same environment at an hour when pictures are noisy: at first it is late in the day."""
    simulator = env._simulator
    plain = simulator.reset

    def reset(seed: int, start: Any) -> None:
        plain(seed, start)
        simulator._env._step = 270
        simulator._env._update_time()

    simulator.reset = reset
    return env


@pytest.mark.parametrize("at", [lambda env: env, dark], ids=["day", "night"])
def test_looking_changes_nothing(at: Any) -> None:
    """Neither rendered frames nor observed pictures, of whatever size."""
    blind = episode(at(make(image=False)), 5, 60)
    assert episode(at(make(image=False)), 5, 60, looking=True) == blind
    assert episode(at(make(image=True, image_size=27)), 5, 60) == blind


def test_the_dark_is_drawn_from_the_seed_and_the_step() -> None:
    env = dark(make())
    night = env.reset(5, 0)["image"]
    np.testing.assert_array_equal(env.render()[::ENLARGED, ::ENLARGED], night)
    assert (env.step(0).observation["image"] != night).any()
    assert (env.reset(6, 0)["image"] != night).any()
    np.testing.assert_array_equal(env.reset(5, 0)["image"], night)


@pytest.mark.parametrize("seed", [0, 7])
def test_a_world_is_the_first_that_stock_crafter_makes(seed: int) -> None:
    stock = crafter.Env(seed=seed, size=(63, 63))
    picture = stock.reset()
    env = make(start={}, privileged=True)
    seen = env.reset(seed, 0)
    np.testing.assert_array_equal(seen["privileged"]["map"], stock._sem_view())
    np.testing.assert_array_equal(seen["image"], picture)
    stock_first = stock.step(ACTION("move_left"))[3]
    np.testing.assert_array_equal(
        env.step(ACTION("move_left")).observation["privileged"]["map"], stock_first["semantic"]
    )


def test_a_remembered_world_is_a_new_one() -> None:
    landscape.cache_clear()
    env = make(image=False)
    first = episode(env, 2, 40)
    assert landscape.cache_info().misses == 1
    assert episode(env, 2, 40) == first
    assert (landscape.cache_info().misses, landscape.cache_info().hits) == (1, 1)


def test_names_are_crafters() -> None:
    constants, world = crafter.constants, crafter.Env(seed=0)
    assert list(names.ACTIONS) == constants.actions
    assert list(names.ITEMS) == list(constants.items)
    assert list(names.ACHIEVEMENTS) == constants.achievements
    assert {item["max"] for item in constants.items.values()} == {names.MOST_OF_AN_ITEM}
    view = world._sem_view
    cells = {number: name for name, number in view._mat_ids.items()}
    cells |= {number: kind.__name__.lower() for kind, number in view._obj_ids.items()}
    assert tuple(cells[number] or "outside" for number in sorted(cells)) == names.CELLS


def test_ordered_set_keeps_the_order() -> None:
    kept = OrderedSet()
    for member in "cabba":
        kept.add(member)
    kept.remove("a")
    kept.add("a")
    assert list(kept) == ["c", "b", "a"]
    with pytest.raises(KeyError):
        kept.remove("z")


def test_success_is_the_tasks_achievement_and_ends_the_episode() -> None:
    """A player who owns two pieces of wood and faces grass sets up a table at once."""
    placing = make(task="place_table", image=False)
    placing.reset(0, 0)
    step = placing.step(ACTION("place_table"))
    assert (step.success, step.terminated, step.reward) == (True, True, 1.0)
    assert step.signals["achievements"][names.ACHIEVEMENTS.index("place_table")] == 1
    assert step.signals["inventory"][names.ITEMS.index("wood")] == 0
    other = make(task="place_plant", image=False)
    other.reset(0, 0)
    step = other.step(ACTION("place_table"))
    assert (step.success, step.terminated, step.reward) == (False, False, 0.0)


def test_death_ends_the_episode_without_success() -> None:
    env = make(image=False, start={"health": 1, "food": 0, "drink": 0, "energy": 0})
    env.reset(0, 0)
    steps = [env.step(0)]
    while not steps[-1].terminated and len(steps) < 40:
        steps.append(env.step(0))
    assert steps[-1].terminated
    assert not steps[-1].success
    assert steps[-1].reward == pytest.approx(-0.1)
    assert steps[-1].signals["health"] == 0.0


def test_the_view_is_cut_from_the_map_and_ends_with_the_world() -> None:
    env = make(image=False, privileged=True, area=24)
    seen = env.reset(1, 0)
    x, y = seen["privileged"]["position"]
    assert (x, y) == (12, 12)
    np.testing.assert_array_equal(seen["local"], seen["privileged"]["map"][x - 4 : x + 5, y - 3 : y + 4])
    env._simulator.player.pos = np.array([0, 0])
    local = env._observation()["local"]
    assert not local[:4].any()
    assert not local[:, :3].any()
    assert local[4:, 3:].all()


def test_render_enlarges_the_picture() -> None:
    env = make()
    picture = env.reset(0, 0)["image"]
    np.testing.assert_array_equal(env.render()[1::ENLARGED, 2::ENLARGED], picture)
    assert env.render().shape == (252, 252, 3)


def test_the_kit_is_the_same_for_every_task_and_can_be_changed() -> None:
    for task in TASKS:
        inventory = make(task=task, image=False).reset(0, 0)["inventory"]
        assert {name: inventory[names.ITEMS.index(name)] for name in KIT} == KIT
    bare = make(start={"wood": 9}, image=False).reset(0, 0)["inventory"]
    assert dict(zip(names.ITEMS, bare.tolist(), strict=True)) == {
        name: 9 if name in ("health", "food", "drink", "energy", "wood") else 0 for name in names.ITEMS
    }


def test_every_task_has_five_different_instructions_of_its_own() -> None:
    every = [text for texts in INSTRUCTIONS.values() for text in texts]
    assert tuple(INSTRUCTIONS) == TASKS
    assert len(TASKS) == 10
    assert len(set(every)) == 5 * len(TASKS)
    assert set(TASKS) <= set(names.ACHIEVEMENTS)


def test_the_briefing_tells_the_words_and_not_the_task() -> None:
    suite = find_suite("crafter")
    options = CrafterOptions(task="eat_cow", wording=2)
    assert suite.briefing(options) == {"instruction": "get some beef", "paraphrases": list(INSTRUCTIONS["eat_cow"])}
    own = CrafterOptions(task="eat_cow", instruction="lunch, please")
    assert suite.briefing(own)["instruction"] == "lunch, please"
    assert suite.task_name(options) == "eat_cow"
    env = CrafterEnv(own)
    env.reset(0, 0)
    assert {key: str(value) for key, value in env.constants().items()} == {
        "instruction": "lunch, please",
        "achievement": "eat_cow",
    }


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"task": "collect_gold"}, "Input should be 'collect_wood'"),
        ({"image_size": 64}, "found 64; expected a multiple of 9, such as 63"),
        ({"start": {"gold": 1}}, "found gold; expected some of health, food"),
        ({"start": {"wood": 10}}, "found wood: 10; expected 0 to 9 of an item"),
        ({"start": {"health": 0}}, "found health: 0, a player who is dead"),
        ({"wording": 5}, "less than or equal to 4"),
        ({"instruction": ""}, "at least 1 character"),
    ],
)
def test_wrong_options_say_what_is_expected(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationError, match=text):
        CrafterOptions.model_validate(options)


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "crafter", None)
    from proctor.errors import MissingExtra

    with pytest.raises(MissingExtra, match=r'the crafter suite needs the package "crafter".*proctor\[crafter\]'):
        make()
