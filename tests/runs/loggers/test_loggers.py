from __future__ import annotations

import re
import sys
from types import ModuleType, SimpleNamespace

import pytest
from csv_numbers import read_csv

from proctor import CsvLogger, DictLogger, Loggers, MlflowLogger, TensorboardLogger, WandbLogger
from proctor.errors import InputError, MissingExtra

VALUES = {"eval/tracking/emd": 0.1 + 0.2, "eval/tracking/emd#std": float("nan")}


def test_dict_keeps_every_step():
    logger = DictLogger()
    logger.log({"a": 1.0}, 5)
    logger.log({"a": 3.0}, 2)
    logger.log({"b": 2.0}, 5)
    assert logger.history[5] == {"a": 1.0, "b": 2.0}
    assert logger.series("a") == {2: 3.0, 5: 1.0}
    logger.close()


def test_csv_keeps_every_digit_and_goes_on_after_a_restart(tmp_path):
    path = tmp_path / "logs" / "eval.csv"
    CsvLogger(path).log(VALUES, 0)
    again = CsvLogger(path)
    again.log({"eval/tracking/emd": 1e-17, "new, with comma": 2.0}, 10)
    again.close()
    found = read_csv(path)
    assert found[0]["eval/tracking/emd"] == 0.1 + 0.2
    assert found[0]["eval/tracking/emd#std"] != found[0]["eval/tracking/emd#std"]
    assert found[10] == {"eval/tracking/emd": 1e-17, "new, with comma": 2.0}
    assert path.read_text().count("step,key,value") == 1


def test_csv_does_not_append_to_another_table(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="begins with a,b; expected step,key,value; use another file"):
        CsvLogger(path)
    assert path.read_text() == "a,b\n1,2\n"


def test_several_loggers_are_one(tmp_path):
    first, second = DictLogger(), CsvLogger(tmp_path / "x.csv")
    both = Loggers(first, second)
    both.log({"a": 1.0}, 3)
    both.close()
    assert first.history == read_csv(second.path) == {3: {"a": 1.0}}


def test_tensorboard_reads_what_was_written(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    logger = TensorboardLogger(tmp_path)
    logger.log({"eval/tracking/emd": 0.5, "eval/tracking/emd#std": 0.25}, 100)
    logger.log({"eval/tracking/emd": 0.25}, 200)
    logger.close()
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert set(events.Tags()["scalars"]) == {"eval/tracking/emd", "eval/tracking/emd#std"}
    assert [(e.step, e.value) for e in events.Scalars("eval/tracking/emd")] == [(100, 0.5), (200, 0.25)]


class WandbRun:
    """Drops what comes with an earlier step, as the real one."""

    def __init__(self):
        self.step, self.rows = -1, []

    def log(self, data, step=None):
        assert isinstance(data, dict)
        if step >= self.step:
            self.step = step
            self.rows.append((step, data))


@pytest.fixture
def wandb(monkeypatch):
    module = ModuleType("wandb")
    module.run = WandbRun()
    monkeypatch.setitem(sys.modules, "wandb", module)
    return module


def test_wandb_gets_values_with_their_step(wandb):
    logger = WandbLogger()
    logger.log({"eval/tracking/emd#std": 0.5}, 7)
    logger.close()
    assert wandb.run.rows == [(7, {"eval/tracking/emd#std": 0.5})]
    own = WandbRun()
    WandbLogger(own).log({"a": 1.0}, 1)
    assert own.rows == [(1, {"a": 1.0})]


def test_wandb_needs_a_run(wandb):
    wandb.run = None
    with pytest.raises(InputError, match=r"call wandb.init\(\) first"):
        WandbLogger()


def test_wandb_starts_a_run_where_none_is_active_and_ends_only_that(wandb, tmp_path):
    active, own = wandb.run, WandbRun()
    own.finished, own.config = 0, SimpleNamespace(update=lambda values, allow_val_change: own.rows.append(values))
    own.finish = lambda: setattr(own, "finished", own.finished + 1)
    wandb.init = lambda project, name, dir: own if (project, name) == ("p", tmp_path.name) else None
    options = WandbLogger.Options(project="p")
    WandbLogger.for_run(options, tmp_path).close()
    assert WandbLogger.for_run(options, tmp_path).run is active
    wandb.run = None
    logger = WandbLogger.for_run(options, tmp_path)
    logger.begin({"name": "x"})
    logger.close()
    logger.close()
    assert (logger.run, own.finished, own.rows) == (own, 1, [{"proctor": {"name": "x"}}])


@pytest.fixture
def mlflow(monkeypatch):
    """Refuses the names that MLflow refuses."""
    module, logged = ModuleType("mlflow"), []

    def log_metrics(metrics, step=None, synchronous=None, run_id=None):
        for name, value in metrics.items():
            assert re.fullmatch(r"[/\w.\- :]*", name), name
            assert isinstance(value, float)
        logged.append((step, run_id, metrics))

    module.log_metrics = log_metrics
    monkeypatch.setitem(sys.modules, "mlflow", module)
    return SimpleNamespace(logged=logged)


def test_mlflow_gets_names_that_it_allows(mlflow):
    logger = MlflowLogger("run7")
    logger.log({"eval/tracking/emd": 1, "eval/tracking/emd#std": 0.5}, 3)
    logger.close()
    assert mlflow.logged == [(3, "run7", {"eval/tracking/emd": 1.0, "eval/tracking/emd.std": 0.5})]


@pytest.mark.parametrize(
    ("make", "package"),
    [(WandbLogger, "wandb"), (MlflowLogger, "mlflow"), (lambda: TensorboardLogger("x"), "tensorboard")],
)
def test_a_missing_package_is_one_sentence(monkeypatch, make, package):
    class Absent:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] == package:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])
    with pytest.raises(
        MissingExtra, match=rf'needs the package "{package}"; install it with: pip install "proctor\[{package}\]"'
    ):
        make()
