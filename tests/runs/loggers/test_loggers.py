from __future__ import annotations

import sys

import pytest
from csv_numbers import read_csv

from proctor import CsvLogger, DictLogger, Loggers, MlflowLogger, TensorboardLogger, TrackioLogger, WandbLogger
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
    logger.log_rows("eval/tracking/motions", [{"motion": "walk", "emd": 0.5}, {"motion": "kick"}], 200)
    logger.close()
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert set(events.Tags()["scalars"]) == {"eval/tracking/emd", "eval/tracking/emd#std"}
    assert [(e.step, e.value) for e in events.Scalars("eval/tracking/emd")] == [(100, 0.5), (200, 0.25)]
    shown = events.Tensors("eval/tracking/motions")[0].tensor_proto.string_val[0].decode()
    assert shown.splitlines() == ["| motion | emd |", "| --- | --- |", "| walk | 0.5 |", "| kick | - |"]


@pytest.mark.parametrize(
    ("make", "package"),
    [
        (WandbLogger, "wandb"),
        (MlflowLogger, "mlflow"),
        (lambda: TensorboardLogger("x"), "tensorboard"),
        (lambda: TrackioLogger(object()), "trackio"),
    ],
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
