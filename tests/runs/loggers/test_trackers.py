"""Loggers with the genuine packages, offline: what a run leaves with each of them."""

from __future__ import annotations

import json
import shutil
import sqlite3
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from examining import examination, policy, task
from wandb_apart import settings_of_its_own

from proctor import InputError, MlflowLogger, Run, TensorboardLogger, TrackioLogger, WandbLogger, config_from_dict
from proctor.runs.loggers.evidence import COLUMNS, chosen_videos, markdown, table
from proctor.runs.loggers.mlflow_run import MlflowOptions, placed
from proctor.runs.resume import resume
from proctor.runs.session import RunEnd
from proctor.runs.start import start
from proctor.testing import LoggerConformance

SECRET = "do_not_write_me_down" * 2
NOLOAD = "ignore:The ``noload`` loader strategy is deprecated"


MOTIONS = [{"motion": "walk", "emd": 0.1, "motion_id": 0}, {"motion": "kick", "emd": float("nan")}]


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for what the packages write, and no service for them to reach."""
    for key in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR", "TRACKIO_DIR", "HF_HOME"):
        monkeypatch.setenv(key, str(tmp_path / key))
    (tmp_path / "WANDB_DIR").mkdir()
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_API_KEY", SECRET)
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", SECRET)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.chdir(tmp_path)
    with settings_of_its_own():
        yield tmp_path


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of MLflow without runs, which takes seconds to make."""
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy")
    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        mlflow.MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def store(away: Path, empty_store: Path) -> None:
    """MLflow has a database."""
    shutil.copy(empty_store, away / "mlflow.db")


def run_with(away: Path, *loggers: Any, **keys: Any) -> RunEnd:
    agents = [policy("Linear"), {**policy("Upward"), "name": "up"}]
    cfg = {"agents": agents, "tasks": [task()], "n_trials": 3, "loggers": list(loggers), **keys}
    return start(config_from_dict(examination(away / "runs", **cfg)))


def agent_of(run: Run, name: str) -> dict[str, Any]:
    return next(agent for agent in run.report()["agents"] if agent["agent"] == name)


def holds_no_secret(*folders: Path) -> bool:
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return len(files) > 3 and not [path for path in files if SECRET.encode() in path.read_bytes()]


def test_wandb_offline_keeps_config_numbers_table_and_report_in_the_run_folder(away: Path) -> None:
    wandb = pytest.importorskip("wandb")
    end = run_with(away, {"kind": "wandb", "options": {"project": "p"}})
    assert end.notes == ()
    assert wandb.run is None
    wandb.teardown()  # the package's own process writes on after a run has ended
    folder = next(end.run.path.glob("wandb/offline-run-*"))
    kept = next(folder.glob("*.wandb")).read_bytes()
    for text in ("progress/linear/success_rate", "progress/up/score", "report/up/score", "proctor", "report.html"):
        assert text.encode() in kept, text
    shown = json.loads(next(folder.glob("files/media/table/report/*.json")).read_text())
    assert shown["columns"] == list(COLUMNS)
    assert shown["data"] == json.loads(json.dumps(table(end.run.report())))
    assert holds_no_secret(end.run.path)


def test_wandb_goes_on_with_the_run_of_a_script_and_leaves_it_open(away: Path) -> None:
    wandb = pytest.importorskip("wandb")
    with pytest.raises(InputError, match=r"WandbLogger found no run; call wandb.init\(\) first"):
        WandbLogger()
    with wandb.init(project="p", settings=wandb.Settings(console="off")) as run:
        logger = WandbLogger()
        logger.log({"eval/tracking/emd#std": 0.5}, 5)
        logger.log_rows("eval/tracking/motions", MOTIONS, 5)
        logger.close()
        end = run_with(away, "wandb")
        assert end.notes == ()
        assert run.config["proctor"]["agents"][0]["name"] == "linear"
        assert wandb.run is run
        assert run.summary["eval/tracking/emd#std"] == 0.5
        assert (run.summary["eval/tracking/motions"]["nrows"], run.summary["eval/tracking/motions"]["ncols"]) == (2, 3)


@pytest.mark.filterwarnings(NOLOAD)
@pytest.mark.usefixtures("store")
def test_mlflow_keeps_metrics_params_and_files_and_a_resumed_run_goes_on_in_the_same_one(away: Path) -> None:
    import mlflow

    end = run_with(away, {"kind": "mlflow", "options": {"experiment": "exam"}})
    assert end.notes == ()
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("exam").experiment_id
    (found,) = client.search_runs([experiment])
    run = end.run
    assert found.info.run_name == run.path.name
    assert found.info.status == "FINISHED"
    assert found.data.metrics["progress/up/success_rate"] == agent_of(run, "up")["success_rate"]
    assert found.data.metrics["report/linear/score.std"] == pytest.approx(agent_of(run, "linear")["score_std"])
    assert found.data.params["agents.0.name"] == "linear"
    paths = [entry.path for folder in ("", "report") for entry in client.list_artifacts(found.info.run_id, folder)]
    assert {"config.json", "table.md", "report/report.html"} <= set(paths)
    assert resume(run.path, ["n_trials=4"]).notes == ()
    (again,) = client.search_runs([experiment])
    steps = [metric.step for metric in client.get_metric_history(again.info.run_id, "progress/trials_done")]
    assert steps == [6, 8]
    assert holds_no_secret(run.path, away / "mlruns")


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        (None, None),
        ("sqlite:///mlflow.db", "sqlite:////runs/one/mlflow.db"),
        ("sqlite:///../mlflow.db", "sqlite:////runs/mlflow.db"),
        ("sqlite:////data/mlflow.db", "sqlite:////data/mlflow.db"),
        ("sqlite:///:memory:", "sqlite:///:memory:"),
        ("mlruns", "/runs/one/mlruns"),
        ("/data/mlruns", "/data/mlruns"),
        ("file:///data/mlruns", "file:///data/mlruns"),
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("databricks://profile", "databricks://profile"),
    ],
)
def test_a_relative_address_of_mlflow_starts_from_the_run_folder(uri: str | None, found: str | None) -> None:
    assert placed(uri, Path("/runs/one")) == found


@pytest.mark.filterwarnings(NOLOAD)
def test_the_files_of_mlflow_lie_beside_its_database(away: Path, empty_store: Path) -> None:
    (away / "runs").mkdir()
    shutil.copy(empty_store, away / "runs" / "mlflow.db")
    options = MlflowOptions(tracking_uri="sqlite:///../mlflow.db", experiment="exam")
    logger = MlflowLogger.for_run(options, away / "runs" / "one")
    logger.begin({"name": "one"})
    logger.close()
    assert [path.name for path in away.rglob("config.json")] == ["config.json"]
    assert next(away.rglob("config.json")).is_relative_to(away / "runs" / "mlartifacts")


@pytest.mark.filterwarnings(NOLOAD)
@pytest.mark.usefixtures("store")
def test_in_a_training_loop_mlflow_logs_to_the_active_run(away: Path) -> None:
    import mlflow

    experiment = mlflow.create_experiment("loop", artifact_location=str(away / "files"))
    with mlflow.start_run(experiment_id=experiment) as active:
        logger = MlflowLogger()
        logger.log({"eval/tracking/emd": 1, "eval/tracking/emd#std": 0.5}, 3)
        logger.log_rows("eval/tracking/motions", MOTIONS, 3)
        logger.close()
    [table] = mlflow.MlflowClient().list_artifacts(active.info.run_id, "eval/tracking/motions")
    assert table.path == "eval/tracking/motions/3.md"
    found = mlflow.MlflowClient().get_run(active.info.run_id)
    assert found.data.metrics == {"eval/tracking/emd": 1.0, "eval/tracking/emd.std": 0.5}


def test_trackio_keeps_config_numbers_table_and_report(away: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("trackio")
    end = run_with(away, {"kind": "trackio", "options": {"project": "exam"}})
    assert end.notes == ()
    assert capsys.readouterr().out == "", "stdout belongs to the results"
    with sqlite3.connect(away / "TRACKIO_DIR" / "exam.db") as database:
        rows = [json.loads(row) for (row,) in database.execute("SELECT metrics FROM metrics")]
        (config,) = [json.loads(row) for (row,) in database.execute("SELECT config FROM configs")]
        names = [row for (row,) in database.execute("SELECT DISTINCT run_name FROM metrics")]
    database.close()
    values = {key: value for row in rows for key, value in row.items()}
    assert names == [end.run.path.name]
    assert values["report/up/success_rate"] == agent_of(end.run, "up")["success_rate"]
    assert values["progress/trials_done"] == 6
    assert "report/table" in values
    assert config["proctor"]["agents"][0]["name"] == "linear"
    blobs = [path.read_bytes() for path in (away / "TRACKIO_DIR").rglob("*") if path.is_file()]
    assert (end.run.path / "report.html").read_bytes() in blobs


def test_tensorboard_shows_the_config_the_table_and_videos(away: Path) -> None:
    pytest.importorskip("tensorboard")
    for name in ("av", "pygame", "imageio"):
        pytest.importorskip(name)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    cart = {"suite": "gymnasium", "options": {"id": "CartPole-v1", "success": {"return_at_least": 15}}}
    agents = [{"policy": "zero"}, {"policy": "random"}]
    keys = {"agents": agents, "tasks": [cart], "n_trials": 1, "record": {"level": "video"}}
    run = run_with(away, {"kind": "tensorboard", "options": {"videos": 1}}, **keys).run
    events = EventAccumulator(str(run.path / "tensorboard"))
    events.Reload()
    assert {"config/text_summary", "config"} & set(events.Tags()["tensors"])
    (shown,) = events.Tensors("report/table")
    assert shown.tensor_proto.string_val[0].decode() == markdown(run.report())
    (name,) = events.Tags()["images"]
    assert name.startswith("videos/")
    assert events.Images(name)[0].encoded_image_string.startswith(b"GIF8")
    assert len(chosen_videos(run.path, 9)) == 2


@pytest.mark.filterwarnings(NOLOAD)
def test_a_service_that_cannot_be_reached_costs_one_sentence(away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    end = run_with(away, {"kind": "mlflow", "options": {"tracking_uri": "http://127.0.0.1:9"}}, "csv")
    assert end.complete
    (note,) = end.notes
    assert note.startswith("the logger mlflow could not be opened and is left out: MlflowException: ")
    assert (end.run.path / "run.log").read_text().count("the logger mlflow") == 1
    assert (end.run.path / "numbers.csv").is_file()


def test_a_password_does_not_get_into_the_config() -> None:
    with pytest.raises(ValueError, match=r"the address has a password in it, which would be written to config.json"):
        MlflowLogger.Options.model_validate({"tracking_uri": "https://me:secret@example.com"})


@pytest.mark.filterwarnings(NOLOAD)
@pytest.mark.usefixtures("store")
class TestMlflow(LoggerConformance):
    logger = MlflowLogger


@pytest.mark.usefixtures("away")
class TestTrackio(LoggerConformance):
    logger = TrackioLogger

    @pytest.fixture(autouse=True)
    def _needs(self) -> None:
        pytest.importorskip("trackio")


@pytest.mark.usefixtures("away")
class TestTensorboard(LoggerConformance):
    logger = TensorboardLogger

    @pytest.fixture(autouse=True)
    def _needs(self) -> None:
        pytest.importorskip("tensorboard")


def test_the_table_has_a_row_for_each_agent_and_where_there_are_several_for_each_task(away: Path) -> None:
    weak = {**task(kwargs={"scale": 0.3}), "name": "weak"}
    report = run_with(away, tasks=[task(), weak]).run.report()
    rows = table(report)
    assert [row[:3] for row in rows if row[0] == "up"] == [["up", "all tasks", 6], ["up", "toy", 3], ["up", "weak", 3]]
    assert all(len(row) == len(COLUMNS) for row in rows)
    assert [row[:2] for row in table(run_with(away).run.report())] == [["up", "toy"], ["linear", "toy"]]
    assert markdown({"agents": [{"agent": "a|b"}]}).splitlines()[-1] == "| a\\|b | all tasks |" + " - |" * 8
