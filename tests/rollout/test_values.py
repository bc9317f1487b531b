"""Values of a wrong kind are the environment's fault, named with their key, in every kind of environment and on every
kind of worker; none of them becomes an outcome of an agent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Graph, Sequence, Text, Tuple

from proctor import Outcome, Run
from proctor_host.layout import Nans, layout_of
from proctor_host.values import flag, number
from proctor_host.worlds import as_space_says

SUITE = f"{Path(__file__).parents[1] / 'support' / 'many_worlds.py'}:ManyWorlds"
ZERO = {"name": "zero", "policy": "zero"}

TRUE = [True, 1, 1.0, np.True_, np.int8(1), np.float32(1), np.array(True), np.array([1]), np.array([[1.0]])]
FALSE = [False, 0, 0.0, -0.0, np.False_, np.uint8(0), np.float64(0), np.array(False), np.array([0])]
NEITHER = [
    "False", "True", "no", "", "1", b"1", 2, -1, 0.5, float("nan"), float("inf"), None, [], [1], {}, (True,), object(),
    np.array([True, True]), np.array([]), np.array("1"), np.array(None), np.str_("1"), 1j,
]  # fmt: skip


def test_a_flag_is_true_or_false_and_nothing_else() -> None:
    assert all(flag("f", value) is True for value in TRUE)
    assert all(flag("f", value) is False for value in FALSE)
    for value in NEITHER:
        with pytest.raises(ValueError, match=r"the environment gave f .*; expected True or False, or 1 or 0"):
            flag("f", value)


def test_a_number_is_a_number_and_nothing_else() -> None:
    for value in (1.5, np.float32(1.5), np.array(1.5), np.array([1.5])):
        assert number("reward", value) == 1.5
        assert type(number("reward", value)) is float
    for value in ("1.5", b"1", None, [1.5], 1j, np.array([1.0, 2.0]), np.array("1.5"), object()):
        with pytest.raises(ValueError, match=r"the environment gave reward .*; expected a number"):
            number("reward", value)


def test_messages_are_the_same_in_every_process() -> None:
    for value in (object(), np.array([object()]), lambda: 0):
        with pytest.raises(ValueError, match="reward") as found:
            number("reward", value)
        assert "0x" not in str(found.value)


@pytest.mark.parametrize(
    ("odd", "kinds", "says"),
    [
        ("terminated='False'", "env batch", "the environment gave terminated 'False' (str)"),
        ("terminated='False'", "columns", "step_columns gave terminated of <U5"),
        ("terminated=2", "env rows batch columns", "the environment gave terminated 2"),
        ("terminated=nan", "env rows batch columns", "the environment gave terminated nan"),
        ("truncated=-1", "env rows batch columns", "the environment gave truncated -1"),
        ("success=nan", "env rows batch columns", "the environment gave success nan"),
        ("success=nan", "vector", 'the environment gave info["success"] nan'),
        ("success='no'", "vector", "the environment gave info[\"success\"] 'no' (str)"),
        ("reward='1.5'", "env batch", "the environment gave reward '1.5' (str)"),
        ("reward=None", "env batch", "the environment gave reward a value of type NoneType"),
        ("reward=nan", "env rows batch columns vector", "the environment gave reward nan"),
        ("state=nan", "env rows batch columns vector", 'the environment gave NaN in the observation "state"'),
    ],
)
@pytest.mark.parametrize("slots", [1, 3])
def test_an_odd_value_is_a_fault_of_its_environment(
    examine: Callable[..., Run], odd: str, kinds: str, says: str, slots: int
) -> None:
    for kind in kinds.split():
        task = {"suite": SUITE, "name": "world", "options": {"kind": kind, "odd": odd}}
        run = examine(agents=[ZERO], tasks=[task], n_trials=3, num_parallel=slots, limits={"retries": 0})
        for result in run.results():
            assert result.outcome is Outcome.ENV_ERROR, kind
            assert says in str(result.error).splitlines()[0], kind


@pytest.mark.parametrize("odd", ["terminated=np.int64(0)", "truncated=np.array([False])", "success=1.0", "state=inf"])
def test_values_that_can_only_mean_one_thing_are_taken(examine: Callable[..., Run], odd: str) -> None:
    for kind in ("env", "batch"):
        task = {"suite": SUITE, "name": "world", "options": {"kind": kind, "odd": odd}}
        run = examine(agents=[ZERO], tasks=[task], n_trials=2)
        assert all(result.outcome.scored and result.error is None for result in run.results())


@pytest.mark.parametrize("kind", ["env", "rows", "batch", "columns", "vector"])
def test_a_task_may_allow_nan_in_observations(examine: Callable[..., Run], kind: str) -> None:
    options = {"kind": kind, "odd": "state=nan"}
    task = {"suite": SUITE, "name": "world", "nan_observations": "allow", "options": options}
    record = {"level": "series", "observations": True}
    run = examine(agents=[ZERO], tasks=[task], n_trials=2, record=record)
    for result in run.results():
        assert result.outcome.scored
        assert np.isnan(run.episode(result).arrays["observations.state"][3]).all()


ECHO = """
import numpy as np
from proctor import Policy

class Echo(Policy):
    def act(self, batch):
        with np.errstate(invalid="ignore"):
            return batch.observation["state"][:, :2] * 0.0
"""


@pytest.mark.parametrize(
    ("nan_observations", "odd", "outcome"),
    [
        ("fault", "state=inf", Outcome.ENV_ERROR),
        ("allow", "state=inf", Outcome.INVALID_ACTION),
        ("allow", "state=nan", Outcome.INVALID_ACTION),
    ],
)
def test_an_invalid_answer_to_what_is_not_finite(
    examine: Callable[..., Run], tmp_path: Path, nan_observations: str, odd: str, outcome: Outcome
) -> None:
    """It is the environment's, unless the task says that policies are to deal with such values."""
    file = tmp_path / "echo.py"
    file.write_text(ECHO)
    task = {"suite": SUITE, "name": "world", "nan_observations": nan_observations, "options": {"odd": odd}}
    run = examine(agents=[{"name": "echo", "policy": f"{file}:Echo"}], tasks=[task], n_trials=2)
    assert {result.outcome for result in run.results()} == {outcome}


# Observations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (3,), (70,), (4, 5), (40, 40)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_nans_are_found_wherever_they_are(shape: tuple[int, ...], dtype: Any) -> None:
    layout = layout_of(Dict({"a": Box(0, 9, (2,), np.int64), "b": Box(-np.inf, np.inf, shape, dtype)}))
    assert layout is not None
    rng = np.random.default_rng(0)
    large = np.finfo(dtype).max
    for slots in ([0], [2, 1], list(range(9))):
        seen = layout.empty(9)
        seen[0][:] = 1
        seen[1][...] = rng.choice([large, -large, np.inf, -np.inf, 0.0, 1.0], size=seen[1].shape)
        nans, flat = Nans(layout, seen), seen[1].reshape(9, -1)
        assert nans.found(slots) == {}
        for slot in range(9):
            kept = flat[slot].copy()
            flat[slot, rng.integers(flat.shape[1])] = np.nan
            assert nans.found(slots) == ({slot: "b"} if slot in slots else {})
            flat[slot] = kept


def test_an_observation_must_hold_numbers_of_the_right_shape() -> None:
    layout = layout_of(Dict({"x": Box(-1, 1, (2,), np.float32), "n": Discrete(3)}))
    assert layout is not None
    x = np.zeros(2)
    for observation, says in (
        ({"x": np.array(["1", "2"]), "n": 1}, r"x is \['1', '2'\] \(array of <U1\); its space has numbers of float32"),
        ({"x": np.array([1, None]), "n": 1}, "x is an array of object; its space has numbers of float32"),
        ({"x": x, "n": "1"}, r"n is '1' \(str\); its space has numbers of int64"),
        ({"x": x}, "n cannot be read from the observation: found a value of type dict"),
        (None, "n cannot be read from the observation: found a value of type NoneType"),
        ({"x": np.zeros(3), "n": 1}, r"x has shape \(3,\); its space says \(2,\)"),
        ({"x": x + 1j, "n": 1}, "its space has numbers of float32"),
    ):
        with pytest.raises(ValueError, match=says):
            layout.split(observation)


class Marked(gymnasium.Space[Any]):
    """A space of somebody's own."""

    def contains(self, x: Any) -> bool:
        return isinstance(x, frozenset)


def test_an_observation_that_is_no_array_is_as_its_space_says() -> None:
    for space, value in (
        (Text(9), "left"),
        (Dict({"text": Text(9), "x": Box(-1, 1, (2,), np.float32)}), {"text": "left", "x": np.zeros(2)}),
        (Tuple((Text(9), Discrete(2))), ("left", 1)),
        (Sequence(Discrete(3)), (0, 2)),
        (Graph(Discrete(3), None), Graph(Discrete(3), None).sample(num_nodes=2)),
        (Marked(), frozenset("a")),
    ):
        assert repr(as_space_says(space, value)) == repr(value)


@pytest.mark.parametrize(
    ("space", "value", "says"),
    [
        (Text(9), 3, "observation 3 (int); its space is a Text"),
        (Text(9), lambda: 0, "observation a value of type function; its space is a Text"),
        (Dict({"text": Text(9)}), {}, "observation a value of type dict; its space is a Dict"),
        (Dict({"text": Text(9)}), {"text": None}, "text a value of type NoneType; its space is a Text"),
        (Dict({"in": Dict({"x": Box(-1, 1, (1,)), "t": Text(9)})}), {"in": {"x": "a", "t": ""}}, "in.x 'a' (str)"),
        (Tuple((Text(9), Text(9))), ("a",), "observation a value of type tuple; its space is a Tuple"),
        (Sequence(Discrete(3)), lambda: 0, "observation a value of type function; its space is a Sequence"),
        (Marked(), {"a"}, "observation a value of type set; its space is a Marked"),
    ],
)
def test_an_observation_that_is_not_as_its_space_says_is_a_fault(space: Any, value: Any, says: str) -> None:
    with pytest.raises(ValueError, match="the environment gave") as found:
        as_space_says(space, value)
    assert says in str(found.value)


def test_what_the_space_does_not_speak_of_is_left_out() -> None:
    assert as_space_says(Dict({"text": Text(9)}), {"text": "left", "handle": object()}) == {"text": "left"}


SAYING = """
import gymnasium
import numpy as np
from gymnasium.spaces import Box, Text
from proctor import Policy

class Saying(gymnasium.Env):
    action_space = Box(-1, 1, (1,), np.float32)

    def __init__(self, space, says):
        self.observation_space = Text(9) if space == "text" else Box(-1, 1, (2,), np.float32)
        self.says = eval(says, {"np": np})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.age = 0
        return self.seen(), {}

    def seen(self):
        sound = "left" if isinstance(self.observation_space, Text) else np.zeros(2, np.float32)
        return self.says if self.age == 3 else sound

    def step(self, action):
        self.age += 1
        return self.seen(), 1.0, self.age == 6, False, {"success": True}

gymnasium.registry.pop("Saying-v0", None)
gymnasium.register("Saying-v0", Saying)

class Reader(Policy):
    def act(self, batch):
        assert all(isinstance(row, str | np.ndarray) for row in batch.observation)
        return np.zeros((len(batch), 1))
"""


@pytest.mark.parametrize(
    ("space", "says", "error"),
    [
        ("box", "np.array(['1', '2'])", "observation is ['1', '2'] (array of <U1); its space has numbers of float32"),
        ("box", "np.array([1.0, None])", "observation is an array of object; its space has numbers of float32"),
        ("box", "'left'", "observation has shape (); its space says (2,)"),
        ("text", "lambda: 0", "the environment gave observation a value of type function; its space is a Text"),
        ("text", "None", "the environment gave observation a value of type NoneType; its space is a Text"),
    ],
)
def test_text_and_objects_are_the_environments_fault_inline_and_in_processes(
    examine: Callable[..., Run], tmp_path: Path, space: str, says: str, error: str
) -> None:
    file = tmp_path / "saying.py"
    file.write_text(SAYING)
    options = {"id": f"{file}:Saying-v0", "kwargs": {"space": space, "says": says}}
    task = {"suite": "gymnasium", "name": "saying", "options": options}
    agents = [{"name": "reader", "policy": f"{file}:Reader"}]
    for workers in ("inline", 1):
        run = examine(agents=agents, tasks=[task], n_trials=2, workers=workers, limits={"retries": 0})
        assert [(r.outcome, str(r.error).splitlines()[0]) for r in run.results()] == [
            (Outcome.ENV_ERROR, f"ValueError: {error}")
        ] * 2
