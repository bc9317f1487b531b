"""Policies in another interpreter: the same bytes, and what becomes of a host that dies, hangs or cannot load."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examining import by_key, digests, examination

from proctor import ConfigError, InputError, Run, config_from_dict, run_evaluation
from proctor.rollout import policy_host
from proctor_host.episode import Outcome

Examine = Callable[..., Run]

POLICIES = Path(__file__).parents[1] / "support" / "hosted_policies.py"
HERE = {"python": sys.executable}
CART = {"suite": "gymnasium", "name": "cart", "options": {"id": "CartPole-v1"}, "max_episode_steps": 30}


def agent(name: str, runtime: Any = HERE, **options: Any) -> dict[str, Any]:
    return {"name": name.lower(), "policy": f"{POLICIES}:{name}", "runtime": runtime, "options": options}


def alive(folder: Path) -> list[int]:
    """Processes that have loaded a policy here and are still there."""
    found = [int(path.name.partition("-")[2]) for path in folder.glob("loaded-*")]
    return [pid for pid in found if pid != os.getpid() and Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("workers", ["inline", 1])
@pytest.mark.parametrize("name", ["Drawing", "Chunks", "Planned"])
def test_a_policy_in_a_host_gives_the_bytes_of_one_in_the_engine(examine: Examine, name: str, workers: Any) -> None:
    keys: Any = {"tasks": [CART], "n_trials": 5, "workers": workers}
    here = examine(agents=[agent(name, None)], **keys)
    there = examine(agents=[agent(name)], **{**keys, "num_parallel": 3})
    assert digests(there) == digests(here)
    assert len(digests(here)) == 5
    assert all(result.outcome.scored and not result.outcome.broken_by_policy for result in there.results())


@pytest.mark.parametrize("name", ["plain", "drawn", "rows", "bound", "Remembering", "READY"])
def test_functions_and_objects_in_a_host_give_the_bytes_of_the_engine(examine: Examine, name: str) -> None:
    options: Any = {"bound": {"kwargs": {"threshold": 0.01}}, "Remembering": {"kwargs": {"every": 2}}}.get(name, {})
    keys: Any = {"tasks": [CART], "n_trials": 4, "num_parallel": 3}
    here = examine(agents=[agent(name, None, **options)], **keys)
    there = examine(agents=[agent(name, **options)], **keys)
    assert digests(there) == digests(here)
    assert not any(result.outcome.broken_by_policy for result in there.results())
    assert there.report()["findings"] == here.report()["findings"]


def test_an_object_that_cannot_be_kept_in_a_host_says_so(examine: Examine) -> None:
    (result,) = examine(agents=[agent("Locked")], tasks=[CART], n_trials=1).results()
    pickle_says = r"cannot pickle '(_io\.)?TextIOWrapper' (object|instances)"
    assert re.match(
        rf"TypeError: a Locked cannot be kept between calls in a runtime: {pickle_says}\. Keep in it what can be "
        "pickled, or write a proctor.Policy, whose state is arrays",
        result.error or "",
    )


def test_what_cannot_answer_is_refused_in_a_host_as_in_the_engine(examine: Examine) -> None:
    said = [str(refused(examine, {**agent("np"), "policy": f"{POLICIES}:np", "runtime": it})) for it in (None, HERE)]
    assert "is a module; expected a Policy class, a factory, or a function of an observation" in said[0]
    assert said[1].endswith(said[0])


def refused(examine: Examine, entry: dict[str, Any]) -> InputError:
    with pytest.raises(InputError) as error:
        examine(agents=[entry], tasks=[CART], n_trials=1)
    return error.value


def test_the_pipeline_is_around_it_here(examine: Examine) -> None:
    options = {"normalize": {"mean": [0.1] * 4, "var": [2.0] * 4}}
    here = examine(agents=[agent("Drawing", None, **options)], tasks=[CART])
    there = examine(agents=[agent("Drawing", **options)], tasks=[CART])
    assert digests(there) == digests(here)


@pytest.mark.parametrize("workers", ["inline", 1])
@pytest.mark.parametrize(
    ("trouble", "error"),
    [("die", "Died: the policy's process in the interpreter"), ("raise", "LookupError: no such thing")],
)
def test_what_a_policy_breaks_in_its_own_call_is_its_own(
    examine: Examine, tmp_path: Path, trouble: str, error: str, workers: Any
) -> None:
    kwargs = {"trouble": trouble, "folder": str(tmp_path)}
    peace = examine(agents=[agent("Troubled", None, kwargs={**kwargs, "trouble": "none"})], tasks=[CART])
    run = examine(agents=[agent("Troubled", kwargs=kwargs)], tasks=[CART], workers=workers)
    found, expected = by_key(run), digests(peace)
    broken = found.pop("troubled/cart/0001")
    assert broken.outcome is Outcome.POLICY_ERROR
    assert broken.error is not None
    assert broken.error.startswith(error)
    if trouble == "die":
        assert broken.error.split("\n")[0].endswith("died of SIGSEGV in its own call")
    assert {key: result.digest for key, result in found.items()} == {key: expected[key] for key in found}
    assert alive(tmp_path) == []
    assert "a word to whoever reads along" in (run.path / "workers.log").read_text()


def test_a_host_that_somebody_else_ends_is_replaced(examine: Examine, tmp_path: Path) -> None:
    kwargs = {"trouble": "once", "folder": str(tmp_path)}
    run = examine(agents=[agent("Troubled", kwargs=kwargs)], tasks=[CART])
    (tmp_path / "once").touch()
    peace = examine(agents=[agent("Troubled", None, kwargs=kwargs)], tasks=[CART])
    assert digests(run) == digests(peace)
    assert all(not result.outcome.broken_by_policy for result in run.results())
    assert len(list(tmp_path.glob("loaded-*"))) == 3, "one here, two there"


@pytest.mark.parametrize("workers", ["inline", 1])
def test_a_policy_that_hangs_in_its_host_is_ended_and_found(
    examine: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: Any
) -> None:
    monkeypatch.setattr(policy_host, "SLACK_S", 0.2)
    kwargs = {"trouble": "hang", "folder": str(tmp_path)}
    keys: Any = {"tasks": [CART], "limits": {"act_s": 0.3}, "workers": workers, "n_trials": 2}
    run = examine(agents=[agent("Troubled", kwargs=kwargs)], **keys)
    outcomes = {key: result.outcome for key, result in by_key(run).items()}
    assert outcomes.pop("troubled/cart/0001") is Outcome.POLICY_ERROR
    assert not any(outcome.broken_by_policy for outcome in outcomes.values())
    assert alive(tmp_path) == []


def test_a_state_of_objects_does_not_travel(examine: Examine) -> None:
    run = examine(agents=[agent("Keeping")], tasks=[CART], n_trials=1)
    (result,) = run.results()
    assert result.outcome is Outcome.POLICY_ERROR
    assert result.error is not None
    assert "the policy's state has a ndarray; in a runtime it is made of arrays of numbers" in result.error


def test_what_cannot_be_loaded_is_said_before_the_first_trial(examine: Examine) -> None:
    with pytest.raises(InputError) as error:
        examine(agents=[agent("Wanting")], tasks=[CART])
    assert str(error.value) == (
        f'agent "wanting" cannot be loaded in the interpreter {sys.executable}: ModuleNotFoundError: No module named '
        "'a_package_that_nobody_has'"
    )
    with pytest.raises(InputError, match="placement: worker is for policies of this interpreter, and this one lives"):
        examine(agents=[agent("Chunks", placement="worker")], tasks=[CART])
    with pytest.raises(InputError, match=r'has no "Chunk"; did you mean "Chunks"\?'):
        examine(agents=[{**agent("Chunks"), "policy": f"{POLICIES}:Chunk"}], tasks=[CART])


def test_an_agent_has_no_address(tmp_path: Path) -> None:
    entry = agent("Chunks", {"address": "127.0.0.1:7000"})
    with pytest.raises(ConfigError, match="a policy on another machine is served there"):
        config_from_dict(examination(tmp_path, agents=[entry], tasks=[CART]))


def test_another_loader_in_a_runtime_that_has_what_it_needs(examine: Examine) -> None:
    spring = {"name": "random", "policy": "random"}
    here = examine(agents=[spring], tasks=[CART], n_trials=2)
    there = examine(agents=[{**spring, "runtime": HERE}], tasks=[CART], n_trials=2)
    assert digests(there) == digests(here)


def test_a_run_notes_where_its_agents_lived(examine: Examine) -> None:
    run = examine(agents=[agent("Chunks"), agent("Drawing", None)], tasks=[{**CART, "runtime": HERE}], n_trials=1)
    (noted,) = json.loads((run.path / "environment.json").read_text())["sessions"][0]["runtimes"]
    assert (noted["tasks"], noted["agents"], noted["path"]) == (["cart"], ["chunks"], sys.executable)
    assert len(noted["hash"]) == 64
    only = examine(agents=[agent("Chunks")], tasks=[CART], n_trials=1)
    (noted,) = json.loads((only.path / "environment.json").read_text())["sessions"][0]["runtimes"]
    assert (noted["tasks"], noted["agents"]) == ([], ["chunks"])


def test_run_evaluation_leaves_no_process(tmp_path: Path) -> None:
    kwargs = {"trouble": "none", "folder": str(tmp_path)}
    run_evaluation(config_from_dict(examination(tmp_path, agents=[agent("Troubled", kwargs=kwargs)], tasks=[CART])))
    assert list(tmp_path.glob("loaded-*"))
    assert alive(tmp_path) == []
