"""`proctor.evaluate`: the laws of a config hold for what is in memory."""

from __future__ import annotations

import functools
from pathlib import Path

import gymnasium
import numpy as np
import own_envs
import pytest
from examining import digests
from own_envs import Slope, make_slope, pull, pull_rows

import proctor
from proctor import ConfigError, InputError, config_from_dict, run_evaluation
from proctor.memory import identity_of
from proctor.runs.resume import resume

FILE = str(own_envs.__file__)


@pytest.fixture
def evaluate(tmp_path):
    """Six trials, unless seeds say how many."""

    def run(*given, **said):
        trials = {} if "seeds" in said else {"n": 6}
        return proctor.evaluate(*given, **{**trials, "out": tmp_path, "progress": False, "workers": "inline", **said})

    return run


def of(run, agent):
    """The digests of an agent's trials, in order."""
    return [result.digest for result in run.results() if result.trial.agent == agent]


def test_in_memory_equals_the_same_through_a_config(evaluate, tmp_path):
    task = {"suite": "gymnasium", "options": {"id": f"{FILE}:make_slope"}}
    held = evaluate({"pull": pull}, {"slope": lambda: Slope()})
    named = evaluate({"pull": pull}, {"slope": make_slope})
    text = "from own_envs import pull\nfrom proctor.policies.plain import as_policy\nPull = lambda: as_policy(pull)\n"
    (tmp_path / "pulling.py").write_text(text)
    told = {"name": "pull", "policy": f"{tmp_path / 'pulling.py'}:Pull"}
    cfg = {"agents": [told], "tasks": [{**task, "name": "slope"}], "n_trials": 6, "workers": "inline"}
    config = run_evaluation(config_from_dict({**cfg, "output_root": str(tmp_path)}))
    assert digests(held) == digests(named) == digests(config)
    assert len(set(digests(held).values())) == 6


def test_a_maker_of_what_gymnasium_makes_gives_its_trials(evaluate):
    plain = evaluate("random", {"t": "CartPole-v1"})
    made = evaluate("random", {"t": lambda: gymnasium.make("CartPole-v1")})
    assert digests(plain) == digests(made)
    assert {result.max_steps for result in made.results()} == {500}


def test_inline_equals_processes_for_what_can_be_imported(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(FILE).parent))
    runs = [
        proctor.evaluate(pull, make_slope, n=4, out=tmp_path, progress=False, workers=workers)
        for workers in ("inline", 2)
    ]
    assert digests(runs[0]) == digests(runs[1])
    assert runs[1].plain_config().workers.count == 2


def test_one_by_one_equals_batched_and_agents_share_their_seeds(evaluate):
    run = evaluate({"one": pull, "rows": pull_rows, "said": lambda o: pull_rows(o), "half": lambda o: pull(o) / 2},
                   {"slope": make_slope})  # fmt: skip
    assert of(run, "one") == of(run, "rows")
    assert of(run, "one") != of(run, "half")
    seeds = {agent: [r.trial.seed for r in run.results() if r.trial.agent == agent] for agent in ("one", "half")}
    assert seeds["one"] == seeds["half"] == list(range(123, 129))


def test_seeds_as_a_list_a_range_or_the_first(evaluate):
    run = evaluate(pull, make_slope, seeds=range(7, 10))
    assert [result.trial.seed for result in evaluate(pull, make_slope, seeds=[5, 3, 900]).results()] == [5, 3, 900]
    assert [result.trial.seed for result in run.results()] == [7, 8, 9]
    assert [r.trial.seed for r in evaluate(pull, make_slope, n=1, seeds=40).results()] == [40]


@pytest.mark.parametrize(
    ("env", "kwargs"),
    [
        ("CartPole-v1", {}),
        (gymnasium.spec("CartPole-v1"), {}),
        ({"suite": "gymnasium", "options": {"id": "CartPole-v1"}}, {"max_episode_steps": 5}),
        (Slope, {"scoring": "success"}),
        (["CartPole-v1", make_slope], {}),
    ],
)
def test_environments_as_people_have_them(evaluate, env, kwargs):
    run = evaluate("random", env, n=2, **kwargs)
    assert run.report()["agents"][0]["n_trials"] == 2 * (len(env) if isinstance(env, list) else 1)


def test_success_is_a_return_a_rule_or_a_function(evaluate):
    for success in (1.0, {"return_at_least": 1.0}):
        run = evaluate("random", "CartPole-v1", n=1, success=success)
        assert run.report()["agents"][0]["success_rate"] == 1.0
    run = evaluate("random", "CartPole-v1", n=1, success="is_success")
    assert run.plain_config().tasks[0].options["success"]["info"] == "is_success"
    assert len(list(evaluate("random", "CartPole-v1", n=2, seeds=[7, 9]).results())) == 2


@pytest.mark.parametrize("name", ["./x", "../../x", "a/b", "pkg.mod:Thing", "x.py", "own.py:pull", "~/x", "/etc/x"])
def test_a_name_is_a_name_and_never_a_path(evaluate, name):
    run = evaluate({name: pull}, {"slope": make_slope}, n=1)
    (result,) = run.results()
    assert (result.trial.agent, result.outcome.scored) == (name, True)
    assert {path.parent.name for path in run.path.rglob("*.npz")} <= {"trials"}


def test_what_a_policy_breaks_is_its_own(evaluate):
    run = evaluate(
        {"nan": lambda o: np.array([np.nan]), "shape": lambda o: np.zeros(3), "fine": pull}, {"slope": make_slope}, n=2
    )
    outcomes = {result.trial.agent: (result.outcome.value, result.error) for result in run.results()}
    assert outcomes["nan"][0] == "invalid_action"
    assert "is not finite" in outcomes["nan"][1]
    assert "action has shape (3,); the task's action space has (1,)" in outcomes["shape"][1]
    assert outcomes["fine"][0] in ("success", "failure")


class Broken(gymnasium.Env):
    def __init__(self):
        raise OSError("no such scene")


SHARED = Slope()


@pytest.mark.parametrize(
    ("policy", "env", "said", "sentence"),
    [
        ([], "CartPole-v1", {}, "found an empty list; expected at least one policy"),
        ({}, "CartPole-v1", {}, "found an empty dict; expected at least one policy, by name"),
        ("random", [], {}, "found an empty list; expected at least one environment"),
        ("random", make_slope, {"n_trials": 3}, "n_trials is called n here"),
        ({"": pull}, make_slope, {}, 'agents.0..name: found ""; expected text that is not empty'),
        ([pull, pull], make_slope, {}, 'two policies are named "pull"; give them names of their own'),
        (lambda o, state, info: 0, make_slope, {}, "wants state, info beside the observation"),
        (3, make_slope, {}, 'agent "int": found a int as a policy; expected a function'),
        (pull, Broken, {}, 'the environment of task "Broken" cannot be made: .*no such scene'),
        (pull, lambda: 5, {}, "gave a int; expected a gymnasium.Env"),
        (pull, lambda: SHARED, {}, "environment gives the same environment each time; expected a new one"),
        (pull, Slope(), {}, r"found an environment, a Slope; expected what makes one, such as lambda: MyEnv\(...\)"),
        (pull, 5, {}, "found a int as an environment; expected an id of Gymnasium"),
        (pull, lambda: Slope(), {"workers": 2}, "is in the memory of this process, and workers=2 are others"),
        (pull, make_slope, {"success": lambda *a: True}, "put it into a file and name it"),
        (pull, make_slope, {"seeds": []}, "found no seeds"),
        (pull, make_slope, {"seeds": range(5), "n": 20}, r"found n=20 and 5 seeds; .* leave out n, or give the first"),
        (pull, make_slope, {"success": "rules.py"}, r"success: found 'rules.py'; expected a return to reach \(s"),
        (pull, make_slope, {"success": True}, r"success: found True; .* an entry of info \(success=\"is_success\"\)"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_said_in_a_sentence(evaluate, tmp_path, policy, env, said, sentence):
    with pytest.raises(InputError, match=sentence):
        evaluate(policy, env, **said)
    assert not list(tmp_path.glob("*evaluation*"))


def test_a_key_that_no_config_has_is_refused_with_the_nearest(evaluate):
    with pytest.raises(ConfigError, match=r"num_parallel"):
        evaluate(pull, make_slope, num_paralel=3)
    with pytest.raises(ConfigError, match=r"nn: unknown key; evaluate takes .*, n, name, .*, success, video, workers"):
        evaluate(pull, make_slope, nn=3)
    with pytest.raises(ConfigError, match=r"suces: unknown key; .*; did you mean \"success\"\?"):
        evaluate(pull, make_slope, suces=3, record="nothing")


def test_resuming_needs_the_object_and_says_how(evaluate, tmp_path):
    run = evaluate(pull, {"slope": make_slope}, n=2)
    with pytest.raises(InputError, match=r'agent "pull" is an object that was in the memory .* resume=RUN'):
        resume(run.path)
    with pytest.raises(InputError, match='began with another policy "pull": its code, its weights or its options'):
        evaluate({"pull": pull_rows}, {"slope": make_slope}, n=3, resume=run.path)
    longer = evaluate(pull, {"slope": make_slope}, n=4, resume=run.path)
    assert longer.path == run.path
    assert digests(longer) == digests(evaluate(pull, {"slope": make_slope}, n=4))


def test_the_identity_of_what_is_in_memory_is_recorded(evaluate):
    run = evaluate(pull, make_slope, n=1)
    with run.ledger() as ledger:
        assert ledger.get_meta("fingerprints") == {"pull": {"memory": identity_of(pull)[:16]}}


def scaled(by):
    return lambda obs: obs * by


def test_an_identity_follows_code_constants_and_weights():
    assert identity_of(scaled(2)) == identity_of(scaled(2)) != identity_of(scaled(3))
    assert identity_of(lambda o: o + 1) != identity_of(lambda o: o + 2)
    weights = {"w": np.zeros(3)}
    before = identity_of(weights)
    weights["w"][1] = 1e-9
    assert identity_of(weights) != before
    assert identity_of(functools.partial(max, 1)) != identity_of(functools.partial(max, 2))


def test_an_identity_of_a_model_is_its_weights():
    torch = pytest.importorskip("torch")
    net = torch.nn.Linear(2, 1)
    before = identity_of(net)
    assert identity_of(net.eval()) == before
    with torch.no_grad():
        net.weight += 1e-6
    assert identity_of(net) != before


def test_a_model_in_memory_is_asked_in_blocks_of_pad_to(evaluate):
    torch = pytest.importorskip("torch")
    shapes = set()

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 1)

        def forward(self, x):
            shapes.add(tuple(x.shape))
            return self.linear(x)

    net = Net().train()
    run = evaluate(net, make_slope, n=3)
    assert net.training
    assert (16, 2) in shapes
    assert run.plain_config().agents[0].name == "Net"


def test_progress_is_told_to_a_function(evaluate):
    seen = []
    evaluate(pull, make_slope, n=2, progress=lambda progress: seen.append((progress.done, progress.planned)))
    assert seen[-1] == (2, 2)


def test_videos_of_the_first_trials(evaluate):
    pytest.importorskip("av")
    run = evaluate("random", {"t": "CartPole-v1"}, n=2, video=True, max_episode_steps=3)
    assert [result.video is not None for result in run.results()] == [True, False]
