"""Loggers of a run: what they get, and that they never harm it."""

from __future__ import annotations

import pytest
from csv_numbers import read_csv

from proctor import ConfigError, config_from_dict, run_evaluation
from proctor.errors import InputError
from proctor.runs import following
from proctor.runs.loggers.base import Logger, LoggerOptions
from proctor.runs.resume import resume


class Spy(Logger):
    """Keeps what it was called with on the class, since the run makes the instance."""

    calls: list = []  # noqa: RUF012 - shared on purpose

    class Options(LoggerOptions):
        raises_in: str = ""

    def __init__(self, raises_in):
        self.raises_in = raises_in

    @classmethod
    def for_run(cls, options, folder):
        cls.calls.append(("open", folder.name))
        logger = cls(options.raises_in)
        logger._note("for_run")
        return logger

    def _note(self, what, *values):
        if what == self.raises_in:
            raise ConnectionError(f"the service is away in {what}")
        self.calls.append((what, *values))

    def begin(self, config):
        self._note("begin", config["name"])

    def log(self, values, step):
        self._note("log", values, step)

    def end(self, report):
        self._note("end", report["name"])

    def close(self):
        self._note("close")


SPY = f"{__file__}:Spy"


@pytest.fixture
def spy(monkeypatch):
    from proctor.registry import import_object

    found = import_object(SPY)
    monkeypatch.setattr(found, "calls", [])
    return found


def config(tmp_path, loggers, **keys):
    return config_from_dict(
        {
            "name": "followed",
            "agents": [{"name": "zero", "policy": "zero"}],
            "tasks": [{"suite": "gymnasium", "options": {"id": "CartPole-v1", "success": {"return_at_least": 400}}}],
            "n_trials": 3,
            "workers": "inline",
            "scoring": "return",
            "output_root": str(tmp_path),
            "loggers": loggers,
            **keys,
        }
    )


def test_a_logger_gets_progress_then_the_report_s_numbers(tmp_path, spy):
    run = run_evaluation(config(tmp_path, [SPY]))
    kinds = [call[0] for call in spy.calls]
    assert kinds == ["open", "for_run", "begin", "log", "log", "end", "close"]
    progress, report = spy.calls[3], spy.calls[4]
    agent = run.report()["agents"][0]
    assert progress[2] == report[2] == 3
    assert progress[1] == {
        "progress/trials_done": 3.0,
        "progress/trials_planned": 3.0,
        "progress/trials_unscored": 0.0,
        "progress/zero/trials_scored": 3.0,
        "progress/zero/success_rate": 0.0,
        "progress/zero/score": pytest.approx(agent["score_mean"]),
    }
    assert report[1]["report/zero/score"] == agent["score_mean"]
    assert report[1]["report/zero/trials_scored"] == 3.0


def test_no_rate_is_logged_where_nothing_defines_success(tmp_path, spy):
    run_evaluation(config(tmp_path, [SPY], tasks=["CartPole-v1"]))
    assert "progress/zero/success_rate" not in spy.calls[3][1]
    assert "progress/zero/score" in spy.calls[3][1]


def test_progress_is_logged_while_trials_run(tmp_path, spy, monkeypatch):
    monkeypatch.setattr(following, "EVERY_S", 0.0)
    monkeypatch.setattr(following, "SHARE", 1e9)
    seen = []
    run_evaluation(config(tmp_path, [SPY], n_trials=40, num_parallel=2), progress=lambda p: seen.append(p.done))
    steps = [call[2] for call in spy.calls if call[0] == "log"]
    assert len(steps) >= len(seen) >= 2, "the run's own observer is called as well"
    assert steps == sorted(steps)
    assert steps[0] < 40


@pytest.mark.parametrize("place", ["for_run", "begin", "log", "end", "close"])
def test_a_logger_that_raises_is_switched_off_and_the_run_goes_on(tmp_path, spy, place):
    run = run_evaluation(config(tmp_path, [{"kind": SPY, "options": {"raises_in": place}}, "csv"]))
    assert run.report()["n_trials"] == 3
    assert read_csv(run.path / "numbers.csv")[3]["progress/trials_done"] == 3.0
    told = [line for line in (run.path / "run.log").read_text().splitlines() if "the service is away" in line]
    assert len(told) == 1, "told once"
    assert f"the service is away in {place}" in told[0]


def test_an_input_error_at_the_start_is_the_user_s(tmp_path):
    (tmp_path / "taken.csv").write_text("a,b\n")
    with pytest.raises(InputError, match="begins with a,b"):
        run_evaluation(config(tmp_path, [{"kind": "csv", "options": {"path": str(tmp_path / "taken.csv")}}]))
    assert list(tmp_path.iterdir()) == [tmp_path / "taken.csv"], "no run folder is left behind"


def test_a_resumed_run_goes_on_in_the_same_file_and_may_change_its_loggers(tmp_path):
    run = run_evaluation(config(tmp_path, ["csv"]))
    resume(run.path, ["n_trials=5"])
    assert set(read_csv(run.path / "numbers.csv")) == {3, 5}
    resume(run.path, ["loggers=[]", "n_trials=6"])
    assert set(read_csv(run.path / "numbers.csv")) == {3, 5}


def test_names_and_options_are_checked_with_the_config(tmp_path):
    with pytest.raises(ConfigError) as caught:
        config(tmp_path, ["cvs", {"kind": "tensorboard", "options": {"foldr": "x"}}, {"kind": 3}])
    text = str(caught.value)
    assert 'loggers[0].kind: unknown logger "cvs"; expected one of csv, mlflow, tensorboard, trackio, wandb' in text
    assert 'did you mean "csv"?' in text
    assert "loggers[1].options.foldr: unknown key; expected one of folder" in text
    assert "loggers[2].kind: found 3; expected text" in text
    found = config(tmp_path, ["csv"]).loggers[0]
    assert (found.kind, found.options) == ("csv", {"path": "numbers.csv"})
