"""Numbers, the config, the final table, the report and videos to an MLflow run."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import field_validator

from proctor.errors import optional
from proctor.runs.loggers.base import Logger, LoggerOptions
from proctor.runs.loggers.evidence import EvidenceOptions, chosen_videos, markdown, markdown_rows, report_files

TAG = "proctor.run"
"""Of an MLflow run: the run folder that it tells of."""
SQLITE = "sqlite:///"
ELSEWHERE = ("databricks", "uc")
"""Words that MLflow takes for a service, and not for a folder."""
LONGEST, MOST = 500, 100
"""Characters of a parameter, and values in one request."""


class MlflowOptions(EvidenceOptions):
    """Which MLflow run takes the numbers; None: the active one, or one of this run folder in `experiment`."""

    run_id: str | None = None
    experiment: str = "proctor"
    tracking_uri: str | None = None
    """None: as MLFLOW_TRACKING_URI says, else MLflow's own default. A relative path in it starts from the run folder,
    whether it is the path of a database (`sqlite:///mlflow.db`) or of a folder."""

    @field_validator("tracking_uri")
    @classmethod
    def _no_secret(cls, uri: str | None) -> str | None:
        if uri is not None and urlsplit(uri).password is not None:
            raise ValueError(
                "the address has a password in it, which would be written to config.json; set MLFLOW_TRACKING_USERNAME "
                "and MLFLOW_TRACKING_PASSWORD instead"
            )
        return uri


class MlflowLogger(Logger):
    """Metrics of an MLflow run.

    Logs to the run `run_id`, or to the active one, which MLflow starts where there is none. MLflow allows no `#` in
    names: `emd#std` becomes `emd.std`. The run stays open when the logger is closed. A run from the command line has a
    run of its own, which a resumed one goes on with, and which ends with it."""

    Options: ClassVar[type[LoggerOptions]] = MlflowOptions

    def __init__(self, run_id: str | None = None):
        self._mlflow = optional("mlflow", "MlflowLogger", "mlflow")
        self.run_id = run_id
        self._client: Any = None
        self._evidence: tuple[MlflowOptions, Path] | None = None
        self._own = False

    @classmethod
    def for_run(cls, options: MlflowOptions, folder: Path) -> Self:
        logger = cls(options.run_id)
        mlflow = logger._mlflow
        store = placed(options.tracking_uri, folder)
        logger._client = mlflow.MlflowClient(tracking_uri=store)
        active = mlflow.active_run()
        if options.run_id is None and active is not None:
            logger.run_id = active.info.run_id
        elif options.run_id is None:
            files = None if store == options.tracking_uri else store.rpartition("/")[0].replace(SQLITE, "")
            logger.run_id, logger._own = _started(logger._client, options, folder, files), True
        logger._evidence = (options, folder)
        return logger

    def begin(self, config: Mapping[str, Any]) -> None:
        """The config as a file, and what it says in words and numbers as parameters. A parameter keeps its first
        value."""
        if self._client is None:
            return
        self._client.log_dict(self.run_id, dict(config), "config.json")
        known = self._client.get_run(self.run_id).data.params
        new = [(key, value) for key, value in _flat(config, "") if key not in known]
        for start in range(0, len(new), MOST):
            params = [self._mlflow.entities.Param(*pair) for pair in new[start : start + MOST]]
            self._client.log_batch(self.run_id, params=params)

    def log(self, values: Mapping[str, float], step: int) -> None:
        named = {_allowed(key): float(value) for key, value in values.items()}
        if self._client is None:
            self._mlflow.log_metrics(named, step=step, run_id=self.run_id)
            return
        now = int(time.time() * 1000)
        metrics = [self._mlflow.entities.Metric(key, value, now, step) for key, value in named.items()]
        for start in range(0, len(metrics), MOST):
            self._client.log_batch(self.run_id, metrics=metrics[start : start + MOST])

    def log_rows(self, name: str, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        """As a file of Markdown among the run's artifacts, one for each step."""
        text, file = markdown_rows(rows), f"{_allowed(name)}/{step}.md"
        if self._client is None:
            self._mlflow.log_text(text, file, run_id=self.run_id)
        else:
            self._client.log_text(self.run_id, text, file)

    def end(self, report: Mapping[str, Any]) -> None:
        if self._client is None or self._evidence is None:
            return
        options, folder = self._evidence
        self._client.log_text(self.run_id, markdown(report), "table.md")
        for path in report_files(folder) if options.report else ():
            self._client.log_artifact(self.run_id, str(path), "report")
        for _, path in chosen_videos(folder, options.videos):
            self._client.log_artifact(self.run_id, str(path), "videos")

    def close(self) -> None:
        if self._own:
            self._own = False
            self._client.set_terminated(self.run_id)


def placed(uri: str | None, folder: Path) -> Any:
    """The address with a relative path in it from `folder` on; any other as it is."""
    if uri is None or uri.startswith(ELSEWHERE):
        return uri
    if uri.startswith(SQLITE):
        path = uri[len(SQLITE) :]
        return uri if path.startswith(("/", ":memory:")) or not path else f"{SQLITE}{os.path.normpath(folder / path)}"
    return uri if urlsplit(uri).scheme else os.path.normpath(folder / uri)


def _started(client: Any, options: MlflowOptions, folder: Path, files: str | None) -> str:
    """The MLflow run of this folder: the one that is there already, or a new one, whose files lie in `mlartifacts` in
    the folder `files`; None: where MLflow puts them."""
    found = client.get_experiment_by_name(options.experiment)
    if found is not None:
        experiment = found.experiment_id
    else:
        place = None if files is None else str(Path(files) / "mlartifacts")
        experiment = client.create_experiment(options.experiment, artifact_location=place)
    name = folder.name.replace("'", "")
    known = client.search_runs([experiment], filter_string=f"tags.`{TAG}` = '{name}'", max_results=1)
    if known:
        client.update_run(known[0].info.run_id, status="RUNNING")
        return known[0].info.run_id
    return client.create_run(experiment, run_name=folder.name, tags={TAG: name}).info.run_id


def _flat(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """Dotted keys and texts of everything in a config that is a word or a number."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from _flat(inner, f"{key}.{place}")
    elif value is not None:
        yield _allowed(key), str(value)[:LONGEST]


def _allowed(name: str) -> str:
    """The name with what MLflow allows in it."""
    return re.sub(r"[^\w./ :-]", "_", name.replace("#", "."))
