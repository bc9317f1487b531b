"""Faults are not failures, and what one trial breaks, no other pays for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crossing import paired
from examining import by_key, digests, examination, policy, task

from proctor import InputError, Run, RunError, config_from_dict, run_evaluation
from proctor.rollout.progress import CancelToken, Progress
from proctor.runs.resume import resume
from proctor.runs.session import Hooks, RunEnd
from proctor.runs.start import start
from proctor_host import recording
from proctor_host.episode import Outcome
from proctor_host.files import write_synced

N = 16
BAD = 123 + 7
"""The seed of the trial that makes trouble, the eighth."""


def troubled(trouble: str, placement: str = "auto", **kwargs: Any) -> dict[str, Any]:
    return policy("Troubled", placement=placement, kwargs={"trouble": trouble, "seeds": [BAD], **kwargs})


def toy(trouble: str, **rest: Any) -> dict[str, Any]:
    kwargs = rest.pop("kwargs", {})
    return task(kwargs={"trouble": trouble, "seeds": [BAD], **kwargs}, **rest)


def bad_and_others(run: Run) -> tuple[Any, dict[str, Any]]:
    found = {result.trial.seed: result for result in run.results()}
    return found.pop(BAD), found


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str | None]:
    """Digests by seed where nobody makes trouble."""
    return by_seed(tmp_path_factory.mktemp("healthy"), agents=[troubled("none")])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str | None]:
    """Digests by seed of the agent that makes no trouble, in an environment that makes none."""
    return by_seed(tmp_path_factory.mktemp("undisturbed"))


def by_seed(folder: Path, **keys: Any) -> dict[int, str | None]:
    run = run_evaluation(config_from_dict(examination(folder, n_trials=N, num_parallel=N, **keys)))
    return {result.trial.seed: result.digest for result in run.results()}


# What the policy breaks ----------------------------------------------------------------------------------------


TROUBLES = {
    "raise": (Outcome.POLICY_ERROR, "ValueError: this observation is too much"),
    "reset": (Outcome.POLICY_ERROR, "RuntimeError: no memory for this trial"),
    "nan": (Outcome.INVALID_ACTION, "action [nan nan] is not finite"),
    "range": (Outcome.INVALID_ACTION, "action [7. 7.] is out of range [-1, 1]"),
}


@pytest.mark.parametrize(("trouble", "placement", "workers"), paired([*TROUBLES], ["engine", "worker"], ["inline", 2]))
def test_one_bad_trial_in_a_batch_of_16_costs_that_trial_only(
    examine: Callable[..., Run],
    healthy: dict[int, str | None],
    trouble: str,
    placement: str,
    workers: Any,
) -> None:
    outcome, says = TROUBLES[trouble]
    strict = [task(out_of_range="reject")]
    run = examine(agents=[troubled(trouble, placement)], tasks=strict, n_trials=N, num_parallel=N, workers=workers)
    bad, others = bad_and_others(run)
    assert bad.outcome is outcome
    assert bad.error.splitlines()[0].startswith(says)
    assert not bad.success
    assert bad.attempts == 1, "what the policy broke is not tried again"
    assert {seed: r.digest for seed, r in others.items()} == {s: d for s, d in healthy.items() if s != BAD}


def test_an_action_of_the_wrong_shape_is_invalid(examine: Callable[..., Run]) -> None:
    run = examine(agents=[troubled("shape")], n_trials=N, num_parallel=1)
    bad, others = bad_and_others(run)
    assert bad.outcome is Outcome.INVALID_ACTION
    assert bad.error == "action has shape (5,); the task's action space has (2,)"
    assert bad.steps_total == 3, "what came before is recorded"
    assert all(r.error is None for r in others.values())


def test_out_of_range_is_clipped_and_counted_unless_the_task_says_otherwise(examine: Callable[..., Run]) -> None:
    run = examine(agents=[troubled("range")], n_trials=N, num_parallel=N, tasks=[task()])
    bad, others = bad_and_others(run)
    assert bad.outcome not in (Outcome.INVALID_ACTION, Outcome.POLICY_ERROR)
    assert bad.clipped_steps == 1
    assert sum(r.clipped_steps for r in others.values()) == 0
    assert run.episode(bad).arrays["actions"].max() == 1.0
    assert run.report()["agents"][0]["clipped_steps"] == 1


@pytest.mark.parametrize("placement", ["engine", "worker"])
def test_a_policy_that_gives_up_fails_with_its_reason(examine: Callable[..., Run], placement: str) -> None:
    for result in examine(agents=[policy("Quitter", placement=placement)]).results():
        assert (result.outcome, result.error) == (Outcome.POLICY_ERROR, "no plan was found")


@pytest.mark.parametrize("placement", ["engine", "worker"])
def test_a_policy_that_never_acts_fails(examine: Callable[..., Run], placement: str) -> None:
    for result in examine(agents=[policy("Wanderer", placement=placement)]).results():
        assert result.outcome is Outcome.POLICY_ERROR
        assert str(result.error).startswith("the policy went through 64 stages without an action")


@pytest.mark.parametrize("placement", ["engine", "worker"])
@pytest.mark.parametrize("workers", ["inline", 1])
def test_a_slow_act_is_a_policy_error_of_the_slow_trial_only(
    examine: Callable[..., Run], healthy: dict[int, str | None], workers: Any, placement: str
) -> None:
    agents = [troubled("hang", placement, nap_s=1.5)]
    run = examine(agents=agents, n_trials=N, num_parallel=N, workers=workers, limits={"act_s": 0.5})
    bad, others = bad_and_others(run)
    assert bad.outcome is Outcome.POLICY_ERROR
    assert bad.error == "TimeoutError: the policy's act took longer than 0.5 s"
    assert {seed: r.digest for seed, r in others.items()} == {s: d for s, d in healthy.items() if s != BAD}


@pytest.mark.parametrize(
    ("nap_s", "placement", "workers", "num_parallel"),
    paired([1.5, 600.0], ["engine", "worker"], ["inline", 1], [1, N]),
)
def test_a_forward_that_is_slow_once_costs_nobody_anything(
    tmp_path: Path, examine: Callable[..., Run], healthy: dict[int, str | None], workers: Any, placement: str,
    num_parallel: int, nap_s: float,
) -> None:  # fmt: skip
    """A process that was stopped for a while, as schedulers of clusters do it, looks like a slow policy."""
    if nap_s > 60 and workers == "inline":
        pytest.skip("inline, nobody notices a call that does not return")
    agents = [troubled("hang once", placement, nap_s=nap_s, mark=str(tmp_path / "napped"))]
    run = examine(agents=agents, n_trials=N, num_parallel=num_parallel, workers=workers, limits={"act_s": 0.5})
    assert (tmp_path / "napped").exists()
    assert {result.trial.seed: result.digest for result in run.results()} == healthy


# What the infrastructure breaks --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trouble", "workers", "outcome", "says"),
    [
        ("raise", "inline", Outcome.ENV_ERROR, "RuntimeError: the simulator diverged"),
        ("raise", 2, Outcome.ENV_ERROR, "RuntimeError: the simulator diverged"),
        ("reset", 2, Outcome.ENV_ERROR, "RuntimeError: the simulator does not start"),
        ("exit", 2, Outcome.ENV_ERROR, "SystemExit: 3"),
        ("nan_reward", "inline", Outcome.ENV_ERROR, "ValueError: the environment gave reward nan"),
        ("nan_observation", "inline", Outcome.ENV_ERROR, "ValueError: the environment gave NaN in the observation"),
        ("die", 2, Outcome.WORKER_LOST, "a worker process died of SIGSEGV"),
        ("hang", 2, Outcome.TIMEOUT, "the environment did not return from step within 0.3 s; its worker was killed"),
    ],
)
def test_a_broken_environment_costs_its_attempts_and_leaves_the_others_alone(
    examine: Callable[..., Run],
    undisturbed: dict[int, str | None],
    trouble: str,
    workers: Any,
    outcome: Outcome,
    says: str,
) -> None:
    run = examine(
        tasks=[toy(trouble)], n_trials=N, num_parallel=N, workers=workers, limits={"step_s": 0.3, "retries": 1}
    )
    bad, others = bad_and_others(run)
    assert bad.outcome is outcome
    assert bad.error.splitlines()[0].startswith(says)
    assert bad.attempts == 2
    assert bad.digest is None
    assert {s: r.digest for s, r in others.items()} == {s: d for s, d in undisturbed.items() if s != BAD}
    assert all(r.attempts == 1 for r in others.values())
    agent = run.report()["agents"][0]
    scored = N - 1
    successes = sum(r.success for r in others.values())
    assert agent["success_rate"] == successes / scored, "a fault never enters a rate"
    assert agent["success"]["bounds"] == [successes / N, (successes + 1) / N]


@pytest.mark.parametrize("trouble", ["raise", "die"])
def test_a_fault_that_passes_leaves_no_trace_but_its_attempts(
    examine: Callable[..., Run], undisturbed: dict[int, str | None], tmp_path: Path, trouble: str
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    run = examine(tasks=[toy(trouble, kwargs={"marks": str(marks)})], n_trials=N, num_parallel=N, workers=2)
    assert len(list(marks.iterdir())) == 1
    assert {result.trial.seed: result.digest for result in run.results()} == undisturbed
    bad, _ = bad_and_others(run)
    assert bad.attempts == 2


def test_an_environment_that_does_not_close_holds_up_no_run(examine: Callable[..., Run]) -> None:
    """A slot that goes to another task lets go of its environment first."""
    stuck = task(kwargs={"trouble": "close"})
    run = examine(
        tasks=[stuck, {**stuck, "name": "other"}], n_trials=2, num_parallel=1, workers=1, limits={"reset_s": 1.0}
    )
    assert [(r.trial.task, r.attempts, r.outcome.scored) for r in run.results()] == [
        (name, 1, True) for name in ("toy", "toy", "other", "other")
    ]
    assert (
        "the environment did not return from close within 1 s; its worker was killed"
        in (run.path / "run.log").read_text()
    )


def test_an_inline_step_that_took_too_long_is_a_timeout(examine: Callable[..., Run]) -> None:
    run = examine(tasks=[task(kwargs={"nap_s": 0.02})], n_trials=1, limits={"step_s": 0.01, "retries": 0})
    (result,) = run.results()
    assert result.outcome is Outcome.TIMEOUT
    assert "the limit is 0.01 s" in str(result.error)


def test_a_trial_has_a_limit_of_its_own(examine: Callable[..., Run]) -> None:
    run = examine(tasks=[task(kwargs={"nap_s": 0.02})], n_trials=1, limits={"trial_s": 0.05, "retries": 0})
    (result,) = run.results()
    assert result.outcome is Outcome.TIMEOUT
    assert "the limit is 0.05 s" in str(result.error)


def test_an_environment_that_cannot_be_made_is_bad_input(examine: Callable[..., Run]) -> None:
    with pytest.raises(InputError, match=r'the environment of task "toy" cannot be made: .*unexpected keyword'):
        examine(tasks=[task(kwargs={"colour": "red"})], workers=1)


@pytest.mark.parametrize("max_loaded_agents", [1, 8])
def test_an_agent_that_cannot_be_loaded_is_bad_input_before_the_first_trial(
    examine: Callable[..., Run], tmp_path: Path, max_loaded_agents: int
) -> None:
    agents = [policy("Linear"), policy("Unloadable")]
    with pytest.raises(InputError, match=r'agent "unloadable" cannot be loaded: ValueError: there are no weights'):
        examine(agents=agents, limits={"max_loaded_agents": max_loaded_agents})
    assert not list(tmp_path.iterdir()), "a folder without a single trial is of no use"


def test_a_full_disk_stops_the_run_and_keeps_what_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []

    def write(path: Path, data: bytes) -> None:
        if len(written) == 5:
            raise OSError(28, "No space left on device")
        written.append(path)
        write_synced(path, data)

    monkeypatch.setattr(recording, "write_synced", write)
    with pytest.raises(
        RunError, match=r"No space left on device.*; 5 of 16 trials are finished and kept.*proctor resume"
    ):
        start(config_from_dict(examination(tmp_path, n_trials=N)))
    (folder,) = tmp_path.iterdir()
    run = Run.open(folder)
    assert len(by_key(run)) == 5
    monkeypatch.undo()
    assert resume(folder).complete


# Stopping ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", ["inline", 2])
def test_a_cancelled_run_keeps_what_is_finished_and_can_go_on(tmp_path: Path, workers: Any) -> None:
    token = CancelToken()

    def stop(progress: Progress) -> None:
        if progress.done >= 3:
            token.cancel()

    keys = {"tasks": [task(kwargs={"nap_s": 0.005})], "n_trials": 40, "workers": workers}
    finished: RunEnd = start(config_from_dict(examination(tmp_path / "a", **keys)), Hooks(stop, token))
    assert finished.cancelled
    assert 3 <= len(by_key(finished.run)) < 40
    again = resume(finished.run.path)
    assert again.complete
    whole = start(config_from_dict(examination(tmp_path / "b", **keys, record="series")))
    assert digests(again.run) == digests(whole.run)


def test_progress_counts_to_the_end(tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []
    start(config_from_dict(examination(tmp_path)), Hooks(lambda p: seen.append((p.phase, p.done))))
    assert seen[-1] == ("stopping", 5)
    assert [done for _, done in seen] == sorted(done for _, done in seen)
    json.dumps(seen)


@pytest.mark.parametrize("placement", ["engine", "worker"])
def test_a_policy_that_hangs_for_good_after_short_forwards_is_left_behind(
    examine: Callable[..., Run], healthy: dict[int, str | None], placement: str
) -> None:
    agents = [troubled("hang", placement, nap_s=600)]
    run = examine(agents=agents, n_trials=N, num_parallel=N, workers=2, limits={"act_s": 0.5})
    bad, others = bad_and_others(run)
    assert bad.outcome is Outcome.POLICY_ERROR
    assert bad.attempts == 1
    assert bad.steps_total == 3, "what came before is recorded"
    assert {seed: r.digest for seed, r in others.items()} == {s: d for s, d in healthy.items() if s != BAD}
