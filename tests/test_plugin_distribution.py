"""A distribution that adds one part of every kind is built, installed beside Proctor, and examined with, by name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

pytestmark = pytest.mark.slow
SUPPORT = Path(__file__).parent / "support"
ORIGIN = "proctor-harbour 1.2.0"
PARTS = {
    "suites": "harbour",
    "loaders": "harbour_pilot",
    "metrics": "harbour_clearance_min_m",
    "metric_families": "harbour_last",
    "scorings": "harbour_careful",
    "backends": "harbour_deck",
    "sections": "harbour_quay",
    "formats": "harbour_log",
    "loggers": "harbour_bell",
    "runtimes": "harbour",
    "forms": "harbour_voyage",
}
"""What the distribution brings: kind -> name."""
EXAMINATION = {
    "name": "docking",
    "agents": [
        {"name": "eager", "policy": "harbour_pilot", "options": {"gain": 2.0}},
        {"name": "idle", "policy": "zero"},
    ],
    "tasks": [{"suite": "harbour", "options": {"width_m": 2.0}}],
    "n_trials": 3,
    "workers": {"kind": "harbour_deck", "count": 2, "options": {"crew": "sailor"}},
    "scoring": {"mode": "harbour_careful", "options": {"metric": "harbour_clearance_min_m"}},
    "report": {"formats": ["html", "harbour_log"]},
    "loggers": ["harbour_bell"],
}


def built(source: Path, folder: Path) -> Path:
    """A folder with the distribution installed, and nothing else."""
    copy = shutil.copytree(source, folder / "source")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    command += ["--disable-pip-version-check", "--target", str(folder / "site"), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def harbour(tmp_path_factory) -> Path:
    return built(SUPPORT / "plugin_dist", tmp_path_factory.mktemp("harbour"))


def python(site: Path, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Python with this folder on the path."""
    env = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=150)


def proctor(site: Path, *arguments: object, cwd: Path) -> str:
    done = python(site, "-m", "proctor", *arguments, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def run(harbour, tmp_path_factory) -> Path:
    """The folder of an examination that names every part."""
    folder = tmp_path_factory.mktemp("examination")
    (folder / "docking.yml").write_text(yaml.safe_dump(EXAMINATION))
    proctor(harbour, "run", "docking.yml", "--set", "output_root=runs", cwd=folder)
    (found,) = (folder / "runs").iterdir()
    return found


def test_the_config_names_no_import_string():
    assert ":" not in json.dumps(EXAMINATION).replace('": ', "")


def test_suite_and_loader_are_found_by_name(run):
    report = json.loads((run / "report.json").read_text())
    assert [agent["n"] for agent in report["agents"]] == [3, 3]
    assert {agent["agent"]: agent["success_rate"] for agent in report["agents"]} == {"eager": 1.0, "idle": 0.0}
    (record, *_) = sorted((run / "trials").rglob("*.npz"))
    with np.load(record) as arrays:
        assert arrays["clearance_m"].dtype == np.float32
        assert len(arrays["clearance_m"]) == len(arrays["actions"])


def test_the_backend_s_records_are_those_of_worker_processes(run, harbour, tmp_path):
    """A trial is a function of (agent, task, seed), wherever it runs."""
    (tmp_path / "docking.yml").write_text(yaml.safe_dump({**EXAMINATION, "workers": 1, "output_root": "runs"}))
    proctor(harbour, "run", "docking.yml", cwd=tmp_path)
    (other,) = (tmp_path / "runs").iterdir()
    names = sorted(path.relative_to(run) for path in run.rglob("*.npz"))
    assert len(names) == 6
    for name in names:
        with np.load(run / name) as one, np.load(other / name) as two:
            assert {k: (v.dtype, v.tobytes()) for k, v in one.items()} == {
                k: (v.dtype, v.tobytes()) for k, v in two.items()
            }


def test_the_metric_is_in_the_report_and_the_scoring_reads_it(run):
    report = json.loads((run / "report.json").read_text())
    (eager,) = (agent for agent in report["agents"] if agent["agent"] == "eager")
    distance = eager["metrics"]["harbour_clearance_min_m"]["value"]
    assert eager["score_mean"] == pytest.approx(1.0 - 0.1 * distance)
    assert eager["metrics"]["harbour_last_clearance_m"]["n"] == 3
    assert report["scoring"]["name"] == "harbour_careful"


def test_the_section_is_on_the_page_and_the_format_wrote_its_file(run):
    page = (run / "report.html").read_text()
    assert "At the quay" in page
    assert "m from the quay</li>" in page
    assert (run / "harbour.log").read_text() == "Harbour log\neager: 1.0\nidle: 0.0\n"


def test_the_logger_got_the_last_numbers(run):
    lines = [json.loads(line) for line in (run / "bell.jsonl").read_text().splitlines()]
    assert lines[-1]["step"] == 6
    assert lines[-1]["report/eager/success_rate"] == 1.0


def test_a_config_may_be_written_in_the_form(harbour, tmp_path):
    voyage = {"voyage": {"pilots": {"ann": 2.0}, "times": 2}, "workers": "inline", "output_root": "runs"}
    (tmp_path / "voyage.yml").write_text(yaml.safe_dump(voyage))
    proctor(harbour, "run", "voyage.yml", cwd=tmp_path)
    (found,) = (tmp_path / "runs").iterdir()
    assert json.loads((found / "config.json").read_text())["agents"][0]["policy"] == "harbour_pilot"
    assert json.loads((found / "report.json").read_text())["n_trials"] == 2


def test_the_list_says_where_each_part_comes_from(harbour, tmp_path):
    listed = json.loads(proctor(harbour, "list", "--json", cwd=tmp_path))
    brought = {kind: [e["name"] for e in entries if e["origin"] == ORIGIN] for kind, entries in listed.items()}
    assert brought == {kind: [name] for kind, name in PARTS.items()}, "one part of every kind"
    others = {entry["origin"] for entries in listed.values() for entry in entries} - {ORIGIN}
    assert others == {"proctor"}
    assert all(entry["about"] and "cannot be loaded" not in entry["about"] for e in listed.values() for entry in e)


def test_every_part_passes_its_conformance_test(harbour, tmp_path):
    shutil.copy(SUPPORT / "plugin_dist" / "conformance.py", tmp_path)
    done = python(harbour, "-m", "pytest", "-q", "-p", "no:cacheprovider", "conformance.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:]


def test_a_distribution_that_shadows_a_built_in_name_is_refused_by_name(tmp_path):
    site = built(SUPPORT / "shadow_dist", tmp_path)
    plain = {"agents": [{"policy": "random"}], "tasks": ["CartPole-v1"], "n_trials": 1, "workers": "inline"}
    (tmp_path / "plain.yml").write_text(yaml.safe_dump({**plain, "scoring": "success", "output_root": "runs"}))
    done = python(site, "-m", "proctor", "run", "plain.yml", cwd=tmp_path)
    reason = (
        'the scoring "success" of proctor-shadow 0.3 (proctor_shadow:Flattering) has the name of a part of Proctor and '
        "is refused; uninstall or rename it"
    )
    assert done.returncode == 2
    assert reason in " ".join((done.stdout + done.stderr).split())
    assert not (tmp_path / "runs").exists()
    assert f"refused: {reason}" in " ".join(proctor(site, "list", "scorings", cwd=tmp_path).split())
    assert reason in " ".join(proctor(site, "doctor", cwd=tmp_path).split())
    done = python(site, "-m", "proctor", "run", "plain.yml", "--set", "scoring.mode=return", cwd=tmp_path)
    assert done.returncode == 0, "a config that does not use the name is not concerned"
