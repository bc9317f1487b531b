import dataclasses
import io
import random
import re
from collections.abc import Callable

import numpy as np
import pytest
from rich.console import Console

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.report import ReportContext, build_report, text
from proctor.report.build.findings import broken_agents
from proctor.report.console import ranked_table
from proctor.report.formats.json_file import to_json
from proctor.report.formats.pages import to_html, to_markdown
from proctor.report.model import Report
from proctor_host.episode import Outcome
from proctor_host.trials import Trial


def report_of(run) -> Report:
    return build_report(run.cfg, iter(run.results), run.context)


def replaced(run, change: Callable[[int, object], object], agent: str | None = None):
    results = [change(i, r) if agent is None or r.trial.agent == agent else r for i, r in enumerate(run.results)]
    return dataclasses.replace(run, results=results)


def agent_of(report: Report, name: str):
    return next(agent for agent in report.agents if agent.agent == name)


def texts(report: Report) -> str:
    return "\n".join(f"{finding.level}: {finding.text}" for finding in report.findings)


def test_rates_are_of_scored_trials_only(run) -> None:
    for agent in report_of(run).agents:
        own = [r for r in run.results if r.trial.agent == agent.agent]
        scored = [r for r in own if r.outcome.scored]
        rate = agent.overall.success
        assert (agent.overall.n_trials, agent.overall.n, rate.n) == (len(own), len(scored), len(scored))
        tasks = [[r.success for r in scored if r.trial.task == task.name] for task in run.cfg.tasks]
        assert rate.rate == pytest.approx(sum(sum(won) / len(won) for won in tasks) / len(tasks))
        assert (rate.bounds is None) == (len(own) == len(scored))


def test_faults_never_move_a_rate_or_a_score(run) -> None:
    clean = dataclasses.replace(run, results=[r for r in run.results if r.outcome.scored])
    for with_faults, without in zip(report_of(run).agents, report_of(clean).agents, strict=True):
        assert with_faults.overall.score == without.overall.score
        assert with_faults.overall.success.rate == without.overall.success.rate


def test_every_task_counts_alike_or_every_trial_does(run) -> None:
    by_trial = run.cfg.model_copy(update={"report": run.cfg.report.model_copy(update={"weights": "trials"})})
    for agent, other in zip(
        report_of(run).agents, report_of(dataclasses.replace(run, cfg=by_trial)).agents, strict=True
    ):
        cells = [cell.summary for cell in agent.cells]
        assert agent.overall.success.successes == sum(c.success.successes for c in cells)
        assert agent.overall.score.mean == pytest.approx(sum(c.score.mean for c in cells) / len(cells))
        weighted = sum(c.score.mean * c.n for c in cells) / sum(c.n for c in cells)
        assert other.overall.score.mean == pytest.approx(weighted)


def test_agents_come_in_the_order_of_their_score(run) -> None:
    report = report_of(run)
    means = [agent.overall.score.mean for agent in report.agents]
    assert means == sorted(means, reverse=True)
    assert [agent.rank for agent in report.agents] == [1, 2, 3]


def test_the_order_of_the_config_does_not_matter_for_the_numbers(run) -> None:
    flipped = dataclasses.replace(run, cfg=run.cfg.model_copy(update={"agents": run.cfg.agents[::-1]}))
    results = list(run.results)
    random.Random(0).shuffle(results)
    results.sort(key=lambda r: (r.trial.task, r.trial.index))
    assert report_of(dataclasses.replace(flipped, results=results)).agents == report_of(run).agents


def test_another_agent_in_the_run_changes_no_interval(run) -> None:
    alone = dataclasses.replace(
        run,
        cfg=run.cfg.model_copy(update={"agents": run.cfg.agents[:1]}),
        results=[r for r in run.results if r.trial.agent == "expert"],
    )
    assert report_of(alone).agents[0] == agent_of(report_of(run), "expert")


def test_equal_agents_share_rank_and_interval(run) -> None:
    twin = AgentCfg(name="twin", policy="onnx", checkpoint="models/0.onnx")
    copies = [
        dataclasses.replace(r, trial=Trial("twin", r.trial.task, r.trial.index, r.trial.seed))
        for r in run.results
        if r.trial.agent == "expert"
    ]
    cfg = run.cfg.model_copy(update={"agents": (*run.cfg.agents, twin)})
    report = report_of(dataclasses.replace(run, cfg=cfg, results=[*run.results, *copies]))
    assert [a.rank for a in report.agents] == [1, 1, 3, 4]
    assert report.agents[0].overall.score == report.agents[1].overall.score
    assert report.verdict == "expert and twin have exactly the same score on 59 pairs of trials: no winner."


def test_std_is_that_of_a_sample_and_steps_to_success_are_of_successes(run) -> None:
    report = report_of(dataclasses.replace(run, cfg=run.cfg.model_copy(update={"scoring": _mode("return")})))
    own = [r for r in run.results if r.trial.agent == "student" and r.outcome.scored]
    summary = agent_of(report, "student").overall
    if not any(r.outcome.broken_by_policy for r in own):
        assert summary.score.std == pytest.approx(np.std([r.episode_reward for r in own], ddof=1))
    reached = [r.steps_to_success for r in own if r.success]
    assert (summary.steps_to_success.mean, summary.steps_to_success.n) == (
        pytest.approx(np.mean(reached)),
        len(reached),
    )


def test_steps_to_success_of_tasks_of_different_length_are_given_by_task(build) -> None:
    run = build(["a", "b"], ["short", "long"], 10)
    lengths = {"short": 400, "long": 500}
    mixed = replaced(run, lambda _, r: dataclasses.replace(r, max_steps=lengths[r.trial.task]))
    pooled, apart = report_of(run), report_of(mixed)
    for agent in apart.agents:
        assert agent_of(pooled, agent.agent).overall.steps_to_success.n > 0
        assert (agent.overall.steps_to_success.mean, agent.overall.steps_to_success.n) == (None, 0)
        own = [cell.summary.steps_to_success for cell in agent.cells]
        assert own == [cell.summary.steps_to_success for cell in agent_of(pooled, agent.agent).cells]
    title = "Steps to success, of successes only"
    assert (title in to_html(pooled), title in to_html(apart)) == (False, True)
    assert f"{text.number(own[0].mean)}" in to_html(apart)


def test_a_ranking_has_the_same_digits_on_every_page(build, tmp_path) -> None:
    """Scores that differ in the fourth decimal, with intervals that would justify one or two."""
    run = build(["a", "b"], ["t"], 20, faults=0, mode="return")
    nudge = {"a": 0.0, "b": -0.0004}
    near = replaced(
        run, lambda _, r: dataclasses.replace(r, episode_reward=-3.0 - (r.trial.index % 5) + nudge[r.trial.agent])
    )
    report = report_of(near)
    assert report.agents[0].overall.score.interval.high - report.agents[0].overall.score.interval.low > 0.5
    table = io.StringIO()
    Console(file=table, width=160).print(ranked_table(report))
    for page in (table.getvalue(), to_markdown(report), to_html(report)):
        assert "−5.0000" in page
        assert "−5.0004" in page
        assert not re.search(r"[ >]-\d", page.split("Resolved config")[0].split("</style>")[-1])


def _mode(name: str):
    from proctor.config.models import ScoringCfg

    return ScoringCfg(mode=name)


def test_a_policy_that_breaks_under_return_has_no_score_and_the_finding_says_what_to_set(build) -> None:
    run = build(["a", "b"], ["t"], 5, faults=0, mode="return")
    broken = replaced(
        run, lambda i, r: dataclasses.replace(r, outcome=Outcome.POLICY_ERROR, success=False) if i == 2 else r
    )
    report = report_of(broken)
    assert [a.agent for a in report.agents] == ["b", "a"]
    assert (report.agents[1].rank, report.agents[1].overall.score.mean) == (None, None)
    assert report.agents[1].overall.success.n == 5
    assert (
        "caution: a: no mean score, because the policy broke 1 trial and the scoring "
        '"return" has no floor for them; set scoring.floor.' in texts(report)
    )
    floored = run.cfg.model_copy(update={"scoring": run.cfg.scoring.model_copy(update={"floor": -5.0})})
    assert "no mean score" not in texts(report_of(dataclasses.replace(broken, cfg=floored)))


def test_a_trial_without_a_score_is_counted_and_not_dropped(build) -> None:
    run = build(["a"], ["t"], 6, faults=0, mode="return")
    report = report_of(replaced(run, lambda i, r: dataclasses.replace(r, episode_reward=None) if i == 1 else r))
    assert report.agents[0].overall.score.n_missing == 1
    assert "a: no mean score, because 1 of 6 scored trials gave none" in texts(report)


def test_one_trial_has_no_interval(build) -> None:
    report = report_of(build(["a"], ["t"], 1, faults=0))
    summary = report.agents[0].overall
    assert summary.score.mean is not None
    assert (summary.score.std, summary.score.interval) == (None, None)
    assert summary.success.interval is not None
    assert "caution: Some agents have a single scored trial on a task" in texts(report)


def test_full_success_has_an_interval_with_a_width(build) -> None:
    run = build(["a"], ["t", "u"], 4, faults=0, mode="success")
    run = replaced(run, lambda i, r: dataclasses.replace(r, outcome=Outcome.SUCCESS, success=True))
    overall = report_of(run).agents[0].overall
    assert overall.score.interval == overall.success.interval
    assert overall.success.interval.low < 0.9


def test_equal_scores_are_said_to_be_equal(build) -> None:
    run = build(["a"], ["t", "u"], 4, faults=0, mode="return")
    run = replaced(run, lambda i, r: dataclasses.replace(r, outcome=Outcome.SUCCESS, episode_reward=7.0))
    report = report_of(run)
    assert report.agents[0].overall.score.interval is None
    assert "resampling them says nothing about further trials: a on t and a on u." in texts(report)


def test_only_what_is_known_to_be_one_episode_counts_once(build) -> None:
    """Equal episodes of different seeds are evidence, unless the task is known to begin in one state."""
    run = build(["a"], ["t", "u"], 4, faults=0)
    same = replaced(run, lambda i, r: dataclasses.replace(r, trace="ab" * 32))
    summary = report_of(same).agents[0].overall
    assert (summary.n, summary.n_repeats) == (8, 0)
    known = dataclasses.replace(same, context=dataclasses.replace(same.context, initial_states={"t": 1}))
    summary = report_of(known).agents[0].overall
    assert (summary.n, summary.n_repeats) == (5, 3)
    assert "count once: their task begins in a few states only, whatever the seed. a on t (3 repeats)." in texts(
        report_of(known)
    )
    differing = replaced(known, lambda i, r: dataclasses.replace(r, trace=f"{i % 2 + 1:064x}"))
    assert report_of(differing).agents[0].overall.n_repeats == 0, "a policy that draws makes different episodes"


def test_unscored_trials_and_a_diverging_simulator_are_listed_against_the_agent(build) -> None:
    run = build(["a", "b"], ["t"], 20, faults=0)
    outcomes = {1: Outcome.ENV_ERROR, 2: Outcome.ENV_ERROR, 3: Outcome.TIMEOUT}
    run = replaced(
        run,
        lambda i, r: dataclasses.replace(
            r, outcome=outcomes.get(i, Outcome.SUCCESS), success=i < 13 and i not in outcomes
        ),
        agent="a",
    )
    report = report_of(run)
    assert (
        "caution: a: 3 trials unscored (2 env error, 1 timeout): success between 50 % and 65 %, whatever "
        "they would have been. The simulator failed on every attempt, on t (2): the agent may be what "
        "drives it there."
    ) in texts(report)
    assert agent_of(report, "a").overall.success.bounds == (0.5, 0.65)


def test_clipped_steps_retries_and_messages_are_counted(build) -> None:
    run = build(["a"], ["t"], 5, faults=0)
    run = replaced(
        run,
        lambda i, r: dataclasses.replace(
            r,
            clipped_steps=3 if i < 2 else 0,
            attempts=1 + (i == 4),
            outcome=Outcome.INVALID_ACTION if i > 2 else Outcome.FAILURE,
            success=False,
            error="NaN in entry 0\nmore" if i > 2 else None,
        ),
    )
    report = report_of(run)
    assert "note: Actions out of range were clipped: a (6 in 2 trials)." in texts(report)
    assert "note: 1 trial needed more than one attempt." in texts(report)
    assert [(c.message, c.count, c.example) for c in report.causes] == [("NaN in entry 0", 2, "a/t/0003")]


@pytest.mark.parametrize(("clipped", "said"), [(9, True), (5, False), (0, False)])
def test_actions_that_are_mostly_out_of_range_are_said_in_verdict_and_findings(build, clipped: int, said: bool) -> None:
    run = replaced(
        build(["a"], ["t"], 20, faults=0), lambda _, r: dataclasses.replace(r, steps_total=10, clipped_steps=clipped)
    )
    report = report_of(run)
    sentence = (
        f"a: {20 * clipped} of 200 actions ({10 * clipped} %) were out of range and clipped; perhaps its actions are "
        "in another unit or scale."
    )
    assert report.verdict.endswith(sentence) == said
    assert (f"caution: {sentence}" in texts(report)) == said
    assert ("note: Actions out of range were clipped" in texts(report)) == (0 < clipped <= 5)


def test_causes_that_differ_in_numbers_only_are_one(build) -> None:
    errors = [
        "action [ 1.5 -0.25] is out of range [-1, 1]",
        "action [-2.  11.5] is out of range [-1, 1]",
        "action [3. 4.] is out of range [-1, 1]",
        "step 7 of seed 12 at 0x7f3a",
        "step 9 of seed 12 at 0x5bcd",
        "something else",
    ]
    run = replaced(
        build(["a"], ["t"], 6, faults=0),
        lambda i, r: dataclasses.replace(r, outcome=Outcome.INVALID_ACTION, success=False, error=errors[i]),
    )
    assert [(c.message, c.count, c.example) for c in report_of(run).causes] == [
        ("action [… …] is out of range [-1, 1]", 3, "a/t/0000"),
        ("step … of seed 12 at …", 2, "a/t/0003"),
        ("something else", 1, "a/t/0005"),
    ]


def test_an_agent_whose_every_trial_broke_is_named_with_its_cause(build) -> None:
    def break_all(i: int, result):
        outcome = Outcome.ENV_ERROR if i == 0 else Outcome.POLICY_ERROR
        return dataclasses.replace(result, outcome=outcome, success=False, error="KeyError: 'image'")

    report = report_of(replaced(build(["a", "b"], ["t"], 5, faults=0), break_all, "a"))
    assert [agent.agent for agent in broken_agents(report)] == ["a"]
    assert (
        "caution: a: every trial broke (5 of 5). Policy error in 4 trials: KeyError: 'image'"
        in texts(report).splitlines()
    )


def test_an_unfinished_run_says_so(run) -> None:
    report = report_of(dataclasses.replace(run, results=run.results[:70]))
    assert "caution: Only 70 of 180 planned trials are finished; the numbers are of those." in texts(report)
    assert report.agents[-1].overall.n == 0
    assert report.agents[-1].rank is None


def test_a_run_without_any_result_still_has_a_report(run) -> None:
    report = report_of(dataclasses.replace(run, results=[]))
    assert report.verdict == "No verdict: none of 0 finished trials could be scored."


def test_verdicts(build) -> None:
    one = build(["a"], ["t"], 20, faults=0)
    assert report_of(one).verdict.startswith("a succeeded in 19 of 20 trials (95 %, 95 % interval 76 % to 99 %) and")
    clear = report_of(build(["a", "b"], ["t"], 200, faults=0))
    assert clear.verdict.startswith("a is better than b: score ")
    assert "200 pairs of trials, p < 0.001)" in clear.verdict
    near = report_of(build(["a", "b"], ["t"], 4, faults=0))
    assert near.verdict.startswith("No winner yet. b ranks first (score ")
    assert "but is not significantly better than a in 4 pairs of trials: difference " in near.verdict
    assert re.search(r"about [\d,]+ trials each would settle it with 80 % probability: [\d,]+ more, t", near.verdict)


def test_a_result_of_an_unknown_agent_is_refused(run) -> None:
    stray = dataclasses.replace(run.results[0], trial=Trial("nobody", "reach", 0, 123))
    with pytest.raises(InputError, match="trial nobody/reach/0000 belongs to no agent and task of the config"):
        build_report(run.cfg, [stray], run.context)


def test_metrics_follow_their_reducer_and_count_what_has_a_value(run, tmp_path) -> None:
    source = (
        "from proctor.metrics import Metric\n"
        "class Worst(Metric):\n"
        "    'Worst value.'\n"
        "    name, unit, direction, reducer = 'worst', 'N', 'down', 'max'\n"
        "    def __call__(self, episode):\n        return None\n"
    )
    (tmp_path / "own.py").write_text(source)
    scoring = run.cfg.scoring.model_copy(update={"metrics": ("own.py:Worst",)})
    run = replaced(run, lambda i, r: dataclasses.replace(r, metrics={"worst": None if i % 2 else float(i)}))
    run = dataclasses.replace(run, cfg=run.cfg.model_copy(update={"scoring": scoring}))
    context = dataclasses.replace(run.context, base=tmp_path)
    report = build_report(run.cfg, run.results, context)
    own = [i for i, r in enumerate(run.results) if r.trial.agent == "expert" and r.outcome.scored and i % 2 == 0]
    estimate = agent_of(report, "expert").overall.metrics["worst"]
    assert (estimate.value, estimate.n, estimate.interval) == (max(own), len(own), None)
    elsewhere = build_report(run.cfg, run.results, dataclasses.replace(context, base=tmp_path / "gone"))
    assert "their recorded values are kept" in texts(elsewhere)
    assert elsewhere.metrics[0].unit == "?"


def test_json_has_no_nan_and_the_known_keys(run) -> None:
    data = to_json(report_of(dataclasses.replace(run, results=run.results[:25])))
    assert list(data)[:7] == [
        "name",
        "generated_at",
        "scoring",
        "n_trials",
        "agents",
        "summary_csv",
        "trials_dir",
    ]
    assert list(data["agents"][0])[:8] == [
        "agent",
        "checkpoint",
        "n_trials",
        "success_rate",
        "score_mean",
        "score_std",
        "steps_total_mean",
        "steps_to_success_mean",
    ]
    assert data["agents"][-1]["score_mean"] is None


def test_the_level_widens_the_intervals(run) -> None:
    wide = build_report(run.cfg, run.results, dataclasses.replace(run.context, level=0.99)).agents[0].overall
    narrow = report_of(run).agents[0].overall
    for name in ("success", "score", "steps_total"):
        low, high = getattr(wide, name).interval
        assert low < getattr(narrow, name).interval.low
        assert high > getattr(narrow, name).interval.high


def test_the_context_needs_nothing_but_a_time(run) -> None:
    assert build_report(run.cfg, run.results, ReportContext("now")).planned == 180
