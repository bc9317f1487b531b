"""Benchmarks of vla-eval's class as tasks: the same tests against a stand-in and against the real package."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from examining import by_key, digests, examination
from vla_eval_package import genuine_python, model_server

from proctor import InputError, Outcome, config_from_dict, load_config, run_evaluation
from proctor.config import ConfigError
from proctor.suites.protocol import Env
from proctor.suites.vla_eval.suite import VlaEvalOptions, VlaEvalSuite
from proctor.testing import EnvConformance, SuiteConformance
from proctor.texts import bytes_to_text

REACH = Path(__file__).parents[2] / "support" / "reach_benchmark.py"
RED, GREEN = "reach the red dot", "reach the green dot"
STILL = np.zeros(2, np.float32)
Make = Callable[..., Any]


def options(name: str = "Reach", **given: Any) -> dict[str, Any]:
    return {"benchmark": f"{REACH}:{name}", "task": RED, **given}


def made(name: str = "Reach", **given: Any) -> Any:
    suite = VlaEvalSuite()
    return suite.make(VlaEvalOptions.model_validate(options(name, **given)), render=False, worlds=1)


@pytest.fixture
def make(package: str) -> Iterator[Make]:
    opened: list[Env] = []

    def build(name: str = "Reach", **given: Any) -> Any:
        opened.append(made(name, **given))
        return opened[-1]

    yield build
    for env in opened:
        env.close()


def towards(env: Any) -> np.ndarray:
    """An action that gets closer."""
    way = env.benchmark.target - env.benchmark.point
    return np.clip(way / 0.1, -1, 1).astype(np.float32)


def played(env: Any, act: Callable[[Any], np.ndarray] = towards, most: int = 100) -> list[Any]:
    steps: list[Any] = []
    while len(steps) < most and not (steps and (steps[-1].terminated or steps[-1].truncated)):
        steps.append(env.step(act(env)))
    return steps


# Laws -----------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("package")
class TestEnv(EnvConformance):
    def make(self) -> Env:
        return made()


@pytest.mark.usefixtures("package")
class TestDrawing(EnvConformance):
    """One that draws from numpy's global generator."""

    def make(self) -> Env:
        return made("Drawing")


@pytest.mark.usefixtures("package")
class TestFresh(EnvConformance):
    """One that carries something over a reset, made anew for each trial."""

    def make(self) -> Env:
        return made("Carrying", fresh=True)


@pytest.mark.usefixtures("package")
class TestSuite(SuiteConformance):
    options: ClassVar[dict[str, Any]] = options()

    def make(self) -> VlaEvalSuite:
        return VlaEvalSuite()


# What an observation becomes ------------------------------------------------------------------------------------------


def test_an_observation_has_images_as_they_are_state_and_instruction(make: Make) -> None:
    env = make()
    seen = env.reset(0, 0)
    assert list(seen) == ["image/front", "image/wrist", "instruction", "states"]
    assert [(seen[k].dtype, seen[k].shape) for k in ("image/front", "image/wrist")] == [
        (np.uint8, (32, 32, 3)), (np.uint8, (16, 16, 3)),
    ]  # fmt: skip
    assert bytes_to_text(seen["instruction"]) == RED
    assert (seen["states"].dtype, seen["states"].shape) == (np.float64, (4,))
    assert env.observation_space.contains(seen)


def test_flags_are_zero_when_they_are_not_there_and_what_is_left_out_is_not_missed(make: Make) -> None:
    env = make("Restarting", flags=["episode_restart"], leave_out=["history", "image/wrist"])
    first = env.reset(0, 0)
    assert (first["episode_restart"], first["episode_restart"].dtype) == (1, np.uint8)
    assert "image/wrist" not in first
    steps = played(env)
    assert [int(step.observation["episode_restart"]) for step in steps] == [0] * len(steps)
    assert steps[-1].success
    assert np.array_equal(steps[-1].observation["image/front"], steps[-2].observation["image/front"])
    """An episode that is over has no images there: they are as they were last."""


def test_what_has_no_fixed_shape_is_named(make: Make) -> None:
    with pytest.raises(InputError, match=r'the observation "states" is a NoneType; .* leave_out: \[states\]'):
        make("Breaking", kwargs={"how": "none"})
    env = make("Breaking", kwargs={"how": "shape"})
    env.reset(0, 0)
    with pytest.raises(ValueError, match=r'the observation "states" is float64 \(5,\); in the first .* float64 \(4,\)'):
        env.step(STILL)


def test_an_entry_that_goes_missing_is_a_fault_unless_the_task_says_otherwise(make: Make) -> None:
    env = make("Breaking", kwargs={"how": "lacks"})
    env.reset(0, 0)
    with pytest.raises(ValueError, match=r'the observation has no "states".*missing: last'):
        env.step(STILL)
    env = make("Breaking", kwargs={"how": "lacks"}, missing="last")
    first = env.reset(0, 0)
    assert np.array_equal(env.step(np.ones(2, np.float32)).observation["states"], first["states"])


def test_a_text_that_is_too_long_is_named(make: Make) -> None:
    with pytest.raises(InputError, match="takes 17 bytes; there are 8 bytes for text"):
        make(text_bytes=8)


# What a trial is ------------------------------------------------------------------------------------------------------


def test_success_is_the_benchmarks_and_is_asked_once_at_the_end(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    env = make()
    asked: list[float] = []
    judge = type(env.benchmark).get_step_result
    monkeypatch.setattr(
        type(env.benchmark), "get_step_result", lambda self, last: asked.append(last.reward) or judge(self, last)
    )
    env.reset(0, 0)
    steps = played(env)
    assert [step.terminated for step in steps] == [False] * (len(steps) - 1) + [True]
    assert [step.success for step in steps] == [False] * (len(steps) - 1) + [True]
    assert len(asked) == 1
    distances = [step.signals["result/distance"] for step in steps]
    assert np.isnan(distances[:-1]).all()
    assert distances[-1] == -steps[-1].reward < 0.15


def test_at_the_step_limit_it_is_asked_too(make: Make) -> None:
    env = make()
    env.step_limit = 3
    env.reset(0, 0)
    steps = [env.step(STILL) for _ in range(3)]
    assert [np.isnan(step.signals["result/distance"]) for step in steps] == [True, True, False]
    assert not any(step.terminated or step.success for step in steps)


def test_episodes_are_counted_by_index_and_go_round_where_the_benchmark_has_so_many(make: Make) -> None:
    env, bounded = make(), make(kwargs={"episodes": 2})
    starts = [env.reset(0, index)["states"] for index in range(4)]
    assert len({start.tobytes() for start in starts}) == 4
    assert env.initial_states is None
    assert bounded.initial_states == 2
    assert np.array_equal(bounded.reset(0, 3)["states"], starts[1])
    assert bounded.constants() == {"task": RED, "episode_idx": 1, "instruction": RED}


def test_a_benchmark_of_the_asynchronous_class_has_no_reward(make: Make) -> None:
    env = make("Slow", task=0)
    assert env.reset(0, 0)["left"] == 3
    steps = played(env, lambda _: np.zeros(1, np.float32))
    assert [int(step.observation["left"]) for step in steps] == [2, 1, 0]
    assert [(step.reward, step.success) for step in steps] == [(0.0, False), (0.0, False), (0.0, True)]
    assert env.max_steps == 300
    with pytest.raises(NotImplementedError, match="shows no image"):
        env.render()


def test_actions_are_what_the_benchmark_says_or_the_task_does(make: Make) -> None:
    assert make().action_space.low.tolist() == [-1, -1]
    assert make("Sized").action_space.high.tolist() == [np.inf, np.inf]
    given = make("Silent", action={"size": 2, "low": -0.5, "high": [1, 2]})
    assert (given.action_space.low.tolist(), given.action_space.high.tolist()) == ([-0.5, -0.5], [1, 2])
    assert given.max_steps == 300
    with pytest.raises(InputError, match=r"Silent does not say how many numbers.*write action: \{size: N\}"):
        make("Silent")


def test_a_video_shows_an_image(make: Make) -> None:
    env = make(video_image="wrist")
    env.reset(0, 0)
    assert env.render().shape == (16, 16, 3)
    with pytest.raises(InputError, match="found video_image: top; the images are front, wrist"):
        make(video_image="top")


def test_the_benchmark_is_cleaned_up_once(make: Make) -> None:
    env = made()
    benchmark = env.benchmark
    env.close()
    assert benchmark.cleaned == 1
    env = make(fresh=True)
    env.reset(0, 0)
    first = env.benchmark
    env.reset(0, 1)
    assert (first.cleaned, env.benchmark is first) == (1, False)


# Which task -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "name"), [(2, GREEN), (GREEN, GREEN), ({"suite": "other"}, GREEN), ({"colour": "red"}, RED)]
)
def test_a_task_is_a_number_a_name_or_fields_that_it_alone_has(task, name, make: Make) -> None:
    assert make(task=task).constants()["task"] == name


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (3, "found task: 3; the benchmark has the tasks 0 to 2"),
        ("reach", f"found task: 'reach'; the benchmark has {RED}, reach the blue dot, {GREEN}"),
        ({"suite": "primary"}, f"2 tasks are that: {RED}, reach the blue dot"),
    ],
)
def test_a_task_that_is_none_or_several(task, text, make: Make) -> None:
    with pytest.raises(InputError) as error:
        make(task=task)
    assert text in str(error.value)


@pytest.mark.usefixtures("package")
def test_options_may_be_plain_attributes() -> None:
    """As they are in a Python that has no pydantic."""
    from proctor.suites.vla_eval.environment import make as make_environment

    def attributes(value: Any) -> Any:
        if isinstance(value, dict):
            return SimpleNamespace(**{key: attributes(inner) for key, inner in value.items()})
        return [attributes(item) for item in value] if isinstance(value, list) else value

    given = options(task={"suite": "other"}, kwargs={"max_steps": 7}, action={"size": 2, "low": [-1, -2]})
    checked = VlaEvalOptions.model_validate(given)
    env: Any = make_environment(attributes(checked.model_dump(mode="json")), render=False, worlds=1)
    assert (env.max_steps, env.constants()["task"], env.action_space.low.tolist()) == (7, GREEN, [-1, -2])
    env.close()


@pytest.mark.usefixtures("package")
def test_an_entry_stands_for_all_tasks_or_those_with_these_fields() -> None:
    entry = {"suite": "vla_eval", "options": {"benchmark": f"{REACH}:Reach"}}
    agents = [{"name": "r", "policy": "random"}]
    config = config_from_dict({"agents": agents, "tasks": [entry]})
    assert [task.options["task"] for task in config.tasks] == [RED, "reach the blue dot", GREEN]
    assert config.tasks[0].name == "Reach-reach-the-red-dot"
    entry["options"]["task"] = {"suite": "primary"}
    assert len(config_from_dict({"agents": agents, "tasks": [entry]}).tasks) == 2
    entry["options"]["task"] = {"suite": "secondary"}
    with pytest.raises(ConfigError, match="none of the benchmark's 3 tasks is that"):
        config_from_dict({"agents": agents, "tasks": [entry]})


@pytest.mark.usefixtures("package")
def test_a_benchmark_in_a_file_is_looked_for_beside_the_config(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(REACH.read_text())
    text = "agents: [{policy: random}]\ntasks: [{suite: vla_eval, options: {benchmark: 'mine.py:Reach'}}]\n"
    (tmp_path / "run.yml").write_text(text)
    config = load_config(tmp_path / "run.yml")
    assert [task.options["benchmark"] for task in config.tasks] == [f"{tmp_path / 'mine.py'}:Reach"] * 3


def test_without_the_package_tasks_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vla_eval", None)
    suite, whole = VlaEvalSuite(), {"benchmark": "a.b:C"}
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"name them by number or name, such as task: \[0, 1, 2\]"):
        suite.expand(whole)
    assert [task["task"] for task in suite.expand({**whole, "task": [0, "b", {"suite": "c"}]})] == [
        0,
        "b",
        {"suite": "c"},
    ]


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"benchmark": "nowhere.at:Reach"}, 'the module "nowhere.at" cannot be imported: there is no "nowhere"'),
        ({"benchmark": "/nowhere.py:Reach"}, "no file /nowhere.py"),
        ({"benchmark": f"{REACH}:Teach"}, 'has no "Teach"'),
        ({"benchmark": f"{REACH}:picture"}, "not as a subclass of vla_eval.benchmarks.base.Benchmark"),
        ({"kwargs": {"suit": 1}}, "was not made with kwargs {'suit': 1}: "),
        ({"benchmark": f"{REACH}:Slow", "render_backend": "cpu"}, "can render on gpu; found render_backend: cpu"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_said(given, text, make: Make) -> None:
    with pytest.raises(InputError) as error:
        make(**given)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"benchmark": "Reach"}, "expected package.module:Class or path/to/file.py:Class"),
        ({"task": -1}, "0"),
        ({"task": {}}, "expected a number from 0, a name, or fields with their values"),
        ({"task": True}, "task"),
        ({"action": {"size": 2, "low": [1]}}, "low has 1 numbers; the action has 2"),
        ({"action": {"size": 2, "low": 1, "high": 1}}, "expected low below high"),
        ({"benchmark_kwargs": {}}, "benchmark_kwargs"),
    ],
)
def test_wrong_options_are_named(given, text) -> None:
    entry = {"suite": "vla_eval", "options": options(**given)}
    with pytest.raises(ConfigError) as error:
        config_from_dict({"agents": [{"name": "r", "policy": "random"}], "tasks": [entry]})
    assert text in str(error.value)


# Whole runs -----------------------------------------------------------------------------------------------------------


def run(folder: Path, name: str = "Reach", workers: int = 2, **given: Any) -> Any:
    tasks = [{"suite": "vla_eval", "name": "reach", "options": options(name, **given)}]
    agents = [{"name": "a", "policy": "random"}]
    keys = {"agents": agents, "tasks": tasks, "workers": {"kind": "process", "count": workers}, "n_trials": 4}
    return run_evaluation(config_from_dict(examination(folder, **keys, record="series")))


@pytest.mark.usefixtures("package")
def test_a_run_is_the_same_whatever_the_number_of_workers(tmp_path: Path) -> None:
    first, second = run(tmp_path / "1", workers=1), run(tmp_path / "2", workers=2)
    assert digests(first) == digests(second)
    results = list(by_key(first).values())
    assert all(result.outcome.scored and result.error is None for result in results)
    assert len({result.digest for result in results}) == 4


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("how", "text"), [("raises", "the gripper fell off"), ("text", "gave get_result()[\"success\"] 'yes' (str)")]
)
def test_what_a_benchmark_raises_is_the_environments_fault(how, text, tmp_path: Path) -> None:
    results = by_key(run(tmp_path, "Breaking", kwargs={"how": how})).values()
    assert {result.outcome for result in results} == {Outcome.ENV_ERROR}
    assert all(text in str(result.error) for result in results)


def test_inline_workers_are_refused(tmp_path: Path) -> None:
    tasks = [{"suite": "vla_eval", "name": "reach", "options": options()}]
    config = config_from_dict(examination(tmp_path, agents=[{"name": "a", "policy": "random"}], tasks=tasks))
    says = 'the runtime "vla_eval" is not installed'
    spec = importlib.util.find_spec("vla_eval")
    with pytest.raises(InputError, match=says if spec is None or spec.origin is None else "stays out of the"):
        run_evaluation(config)


def served_run(folder: Path, url: str, kwargs: dict[str, Any]) -> Any:
    agents = [{"name": "far", "policy": "remote", "options": {"protocol": "vla_eval", "url": url}}]
    tasks = [{"suite": "vla_eval", "options": options(task=task, kwargs=kwargs)} for task in (RED, GREEN)]
    keys = {"agents": agents, "tasks": tasks, "workers": {"kind": "process", "count": 1}, "n_trials": 5}
    return run_evaluation(config_from_dict(examination(folder, **keys, record="series")))


def test_a_model_server_sees_what_the_benchmark_shows(package: str, tmp_path: Path) -> None:
    with model_server("Telling", package) as url:
        results = by_key(served_run(tmp_path, url, {})).values()
    images = {"front": "uint8(32, 32, 3)", "wrist": "uint8(16, 16, 3)"}
    sent = [{"images": images, "states": "float64(4,)", "task_description": told} for told in (RED, GREEN)]
    assert {str(seen) in str(result.error) for result in results for seen in sent} == {True, False}
    assert all(any(str(seen) in str(result.error) for seen in sent) for result in results)


THEIRS = """
import json, sys
import vla_eval
url, benchmark, kwargs, names = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
entry = {"benchmark": benchmark, "params": kwargs, "episodes_per_task": 5, "tasks": names}
(result,) = vla_eval.run({"benchmarks": [entry], "output_dir": sys.argv[5]}, server_url=url, docker=False, no_save=True)
episodes = [episode for task in result["tasks"] for episode in task["episodes"]]
print(json.dumps([[e["metrics"]["success"], e["metrics"]["distance"], e["steps"]] for e in episodes]))
"""


def test_episodes_come_out_as_vla_eval_runs_them(package: str, tmp_path: Path) -> None:
    """The same benchmark and the same model server, run by the package itself and by Proctor."""
    if package != "genuine":
        pytest.skip("the stand-in has no runner of its own")
    kwargs = {"max_steps": 12, "seed": 3}
    with model_server("Pursuing", package) as url:
        given = [url, f"{REACH.stem}:Reach", json.dumps(kwargs), json.dumps([RED, GREEN]), str(tmp_path)]
        path = {**os.environ, "PYTHONPATH": str(REACH.parent)}
        command = [genuine_python(), "-c", THEIRS, *given]
        said = subprocess.run(command, capture_output=True, text=True, env=path, check=True, cwd=tmp_path)
        run = served_run(tmp_path, url, kwargs)
    theirs = json.loads(said.stdout.splitlines()[-1])
    results = list(by_key(run).values())
    distances = [float(np.load(run.path / str(r.npz))["result/distance"][-1]) for r in results]
    ours = [[r.success, distance, r.steps_total] for r, distance in zip(results, distances, strict=True)]
    assert ours == theirs
    assert {r.success for r in results} == {True, False}
