"""One Gymnasium environment: seeds, ends, success, signals, options, and what is refused."""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from drawing import needs_frames

from proctor.errors import InputError
from proctor.registry import SUITES
from proctor.rendering import offscreen_backend, without_display
from proctor.suites import is_batch, make_env, suite_for

ACTION = np.array([0.5], np.float32)


def episode(env, seed: int, index: int = 0, steps: int = 50):
    """First observation and the steps until the environment ends."""
    first, taken = env.reset(seed, index), []
    for _ in range(steps):
        taken.append(env.step(ACTION))
        if taken[-1].terminated or taken[-1].truncated:
            break
    return first, taken


def same(left, right) -> bool:
    pairs = zip(left[1], right[1], strict=True)
    return np.array_equal(left[0], right[0]) and all(
        np.array_equal(a.observation, b.observation) and a[1:5] == b[1:5] for a, b in pairs
    )


@pytest.mark.parametrize("reuse", [True, False])
def test_a_trial_is_a_function_of_its_seed(env, toys, reuse):
    used, fresh = env(kwargs={"length": None}, reuse=reuse), env(kwargs={"length": None})
    for seed in (3, 4, 5):
        episode(used, seed)
    assert same(episode(used, 7), episode(fresh, 7))
    assert not same(episode(used, 7), episode(fresh, 8))


def test_reuse_false_makes_a_fresh_environment_for_each_trial(env, toys):
    made = env(reuse=False)
    before = toys.Counter.made
    for _ in range(3):
        episode(made, 0)
        assert made.gym.unwrapped.resets == 1
    assert toys.Counter.made == before + 2


def test_the_last_observation_is_the_terminal_one(env):
    _, steps = episode(env(), 0)
    assert [s.observation[1] for s in steps] == [1, 2, 3, 4, 5]
    assert [s.terminated for s in steps] == [False] * 4 + [True]


def test_the_registered_limit_is_told_and_not_applied(env):
    made = env(kwargs={"length": 80})
    assert made.max_steps == 50
    assert len(episode(made, 0, steps=100)[1]) == 80
    assert env(id="CartPole-v1").max_steps == 500


def test_spaces_clock_and_neutral_action(env):
    made = env()
    assert made.action_space == gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    assert made.action_dt_s == 0.25
    assert env(action_dt_s=0.1).action_dt_s == 0.1
    assert env(id="CartPole-v1").action_dt_s is None
    np.testing.assert_array_equal(made.dummy_action(), np.zeros(1, np.float32))


def test_discrete_actions_may_be_arrays(env):
    made = env(id="FrozenLake-v1")
    made.reset(0, 0)
    assert made.step(np.array(1)).reward == 0.0


def test_steps_have_plain_types(env):
    made = env(id="Pendulum-v1")
    made.reset(0, 0)
    step = made.step(np.zeros(1, np.float32))
    assert [type(v) for v in step[1:5]] == [float, bool, bool, bool]


@pytest.mark.parametrize(
    ("success", "flags"),
    [
        (None, [False, False, False, False, True]),
        ({"info": "is_success"}, [False, False, False, False, True]),
        ({"info": "nested.vector"}, None),
        ({"info": "absent.key"}, [False] * 5),
        ({"return_at_least": 1.5}, [False, False, True, True, True]),
        ({"terminated": True}, [False, False, False, False, True]),
        ({"terminated": False}, [True, True, True, True, False]),
        ({"function": "toy_envs.py:third_step"}, [False, False, True, False, False]),
    ],
)
def test_success_is_a_flag_of_each_step(env, success, flags):
    made = env(success=success)
    if flags is None:
        with pytest.raises(ValueError, match=r"the environment gave info\[.nested.vector.\] \[1, 1\]"):
            episode(made, 0)
        return
    for _ in range(2):
        assert [s.success for s in episode(made, 0)[1]] == flags


def test_without_a_success_key_there_is_no_success(env):
    assert not any(s.success for s in episode(env(id="Pendulum-v1", kwargs={}), 0, steps=5)[1])


def test_signals_are_read_after_each_step_and_copied(env):
    signals = {"count": "info.count", "v": "info.nested.vector", "v1": "info.nested.vector[1]",
               "buffer": "env.buffer", "ends": "env.buffer[:2]", "last": "env.buffer[-1]"}  # fmt: skip
    made = env(signals=signals)
    _, steps = episode(made, 0)
    assert [s.signals["count"] for s in steps] == [1, 2, 3, 4, 5]
    assert [s.signals["v1"] for s in steps] == [1, 2, 3, 4, 5]
    assert [s.signals["buffer"][1] for s in steps] == [1, 2, 3, 4, 5]
    assert all(s.signals["v"].shape == s.signals["ends"].shape == (2,) for s in steps)
    assert {s.signals["last"] for s in steps} == {-1.0}
    assert type(steps[0].signals["count"]) is float


def test_a_missing_info_key_is_nan_in_the_shape_last_seen(env):
    made = env(signals={"flag": "info.is_success", "never": "info.nothing"}, kwargs={"sparse": True})
    _, steps = episode(made, 0)
    assert [math.isnan(s.signals["flag"]) for s in steps] == [True, False, True, False, True]
    assert all(math.isnan(s.signals["never"]) for s in steps)


def test_the_shape_of_a_missing_signal_comes_from_the_trial_itself():
    from proctor.suites.gymnasium.signals import SignalReader

    reader = SignalReader({"v": "info.v"})
    reader.reset({})
    assert math.isnan(reader.read(None, {})["v"])
    np.testing.assert_array_equal(reader.read(None, {"v": np.arange(2)})["v"], [0, 1])
    np.testing.assert_array_equal(reader.read(None, {})["v"], [np.nan, np.nan])
    reader.reset({})
    assert math.isnan(reader.read(None, {})["v"])
    reader.reset({"v": np.zeros(3)})
    assert reader.read(None, {})["v"].shape == (3,)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("env.bufer", 'signal "s" (env.bufer): Counter has no attribute "bufer"; did you mean "buffer"?'),
        ("env.buffer[7]", 'signal "s" (env.buffer[7]): index 7 is out of bounds for axis 0 with size 3'),
        ("info.nested", 'signal "s": found dict; expected a number or an array of numbers'),
    ],
)
def test_signals_that_cannot_be_read(env, path, text):
    made = env(signals={"s": path})
    with pytest.raises(InputError) as caught:
        episode(made, 0)
    assert str(caught.value) == text


@pytest.mark.parametrize("path", ["reward", "info", "info.", "env[0]", "env.x[", "env.x[a]", "informal.x"])
def test_what_is_no_signal_path(path):
    from proctor.suites.gymnasium.signals import parse_path

    with pytest.raises(ValueError, match=r"expected info.KEY or env.ATTRIBUTE, then .NAME or \[INDEX\]"):
        parse_path(path)


def test_initial_states_and_reset_options(env):
    made = env(initial_states={"option": "state_index", "count": 3}, reset_options={"fixed": 1})
    assert [made.reset(0, index)[2] for index in range(5)] == [0, 1, 2, 0, 1]
    assert made.gym.unwrapped.options == {"fixed": 1, "state_index": 1}
    plain = env()
    plain.reset(0, 4)
    assert plain.gym.unwrapped.options is None


def test_wrappers_are_put_on_innermost_first(env):
    target = "toy_envs.py:Doubled"
    made = env(wrappers=[target, {"target": target, "kwargs": {"factor": 5.0}}])
    assert episode(made, 0)[1][0].reward == 0.5 * 2 * 5
    assert made.gym.factor == 5.0


def test_frames_are_those_of_the_state(env):
    made = env(render=True)
    made.reset(0, 0)
    made.step(ACTION)
    np.testing.assert_array_equal(made.render(), np.full((4, 6, 3), 1, np.uint8))


def test_a_mujoco_environment(env):
    pytest.importorskip("imageio", reason="Gymnasium's robots import it")
    made = env(id="Hopper-v5", signals={"z": "env.data.qpos[1]", "x": "info.x_position"})
    made.reset(0, 0)
    step = made.step(np.zeros(3, np.float32))
    assert made.action_dt_s == pytest.approx(0.008)
    assert step.signals["z"] == made.gym.unwrapped.data.qpos[1]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"id": "CartPole"},
         'no Gymnasium environment "CartPole" is registered; did you mean "CartPole-v1"? (an id of a package or file '
         "of your own is written `package:id` or `file.py:id`)"),
        ({"id": "nomodule:X-v0"},
         'the module "nomodule" cannot be imported: there is no "nomodule"; install it (pip install nomodule), or name '
         "a file: imports: [nomodule.py]"),
        ({"success": {"function": "toy_envs.py:NOT_A_FUNCTION"}}, "NOT_A_FUNCTION\" is a int; expected a function"),
        ({"wrappers": ["builtins:repr"]}, 'the wrapper "builtins:repr" gave a str; expected a gymnasium.Env'),
        ({"vector": {"mode": "vector_entry_point"}},
         '"Toy/Counter-v0" has no vector environment of its own; use vector: {mode: sync}'),
    ],
)  # fmt: skip
def test_environments_that_cannot_be_made(env, options, text):
    with pytest.raises(InputError) as caught:
        env(**options)
    assert text in str(caught.value)


def test_a_missing_package_is_one_sentence(env, monkeypatch):
    from gymnasium.envs import registration

    def missing(*args, **kwargs):
        raise gymnasium.error.DependencyNotInstalled('Box2D is not installed, run `pip install "gymnasium[box2d]"`')

    monkeypatch.setattr(registration, "load_env_creator", lambda _: missing)
    with pytest.raises(InputError) as caught:
        env(id="LunarLander-v3")
    assert str(caught.value) == (
        '"LunarLander-v3" needs a package that is not installed: Box2D is not installed, '
        'run `pip install "gymnasium[box2d]"`'
    )


def test_an_environment_without_frames_is_refused_when_frames_are_wanted(env, toys):
    env(id="toy_envs.py:Toy/NoFrames-v0")
    with pytest.raises(InputError) as caught:
        env(id="toy_envs.py:Toy/NoFrames-v0", render=True)
    assert str(caught.value) == (
        '"Toy/NoFrames-v0" gives no frames: video needs the render mode rgb_array, and it has none; use record: series'
    )


def test_suites_by_name(task):
    known = "crafter endovascular gymnasium libero metaworld mjlab served soccer steve tracking vla_eval"
    assert set(known.split()) == set(SUITES.names())
    assert suite_for(task()).name == "gymnasium"
    assert task().name == "Toy-Counter-v0"
    assert (is_batch(task()), is_batch(task(vector=True))) == (False, True)
    with pytest.raises(InputError, match="expected a subclass of"):
        make_env("builtins:dict", {}, render=False, worlds=1)


CLOSED_BESIDE = """
import numpy as np
from proctor.suites import make_env

kept, other = (make_env("gymnasium", {"id": "Reacher-v5"}, render=True, worlds=1) for _ in range(2))
kept.reset(1, 0), other.reset(1, 0)
before = kept.render()
assert np.array_equal(before, other.render()), "equal states give equal frames"
assert before.max() > 0
other.close()
assert np.array_equal(kept.render(), before), "black: the context went with the other one"
"""


def test_frames_stay_when_another_environment_of_the_process_is_closed():
    needs_frames()
    backend = {"MUJOCO_GL": found} if (found := offscreen_backend(os.environ)) else {}
    ran = subprocess.run(
        [sys.executable, "-c", CLOSED_BESIDE], env=os.environ | backend, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("options", ["", ", 'vector': {}"], ids=["env", "vector"])
def test_a_frame_without_a_screen_prints_nothing_and_leaves_the_environment_as_it_was(options):
    pytest.importorskip("pygame")
    code = f"""
import os
from proctor.suites import make_env
env = make_env("gymnasium", {{"id": "CartPole-v1"{options}}}, render=True, worlds=1)
env.reset(*(([0], [0], [0]) if {bool(options)} else (0, 0)))
assert env.render(*([0] if {bool(options)} else [])).any()
assert "XDG_RUNTIME_DIR" not in os.environ
"""
    hidden = {"XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"}
    bare = {key: value for key, value in os.environ.items() if key not in hidden}
    made = subprocess.run([sys.executable, "-c", code], env=bare, capture_output=True, text=True, check=False)
    assert (made.returncode, made.stderr) == (0, "")


@pytest.mark.parametrize("before", [None, "", "/run/user/7"])
def test_a_runtime_folder_is_named_while_something_is_drawn(monkeypatch, before):
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    if before is not None:
        monkeypatch.setenv("XDG_RUNTIME_DIR", before)
    with without_display():
        assert os.environ["XDG_RUNTIME_DIR"] == (before or os.devnull)
    assert os.environ.get("XDG_RUNTIME_DIR") == before
    with contextlib.suppress(OSError), without_display():
        raise OSError("no frame")
    assert os.environ.get("XDG_RUNTIME_DIR") == before
