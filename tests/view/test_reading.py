"""What is shown of runs: the report's own numbers, from files that are left as they are."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from examining import examination, policy, task
from viewing import Served, contents, viewer

from proctor import Run, config_from_dict, run_evaluation
from proctor.report import text
from proctor.report.build.judgement import verdict
from proctor.report.draw.svg import esc
from proctor.stats import Interval
from proctor.verdict.comparison.compare import compare

pytest.importorskip("starlette", reason="the extra `view` is not installed")
pytest.importorskip("uvicorn", reason="the extra `view` is not installed")
NAMES = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two agents, one with markup for a name."""
    agents = [policy("Linear"), {"name": NAMES, "policy": "random"}]
    root = tmp_path_factory.mktemp("runs")
    keys = {"agents": agents, "tasks": [task()], "n_trials": 6, "name": "shown"}
    return run_evaluation(config_from_dict(examination(root, **keys)))


@pytest.fixture(scope="module")
def served(run: Run) -> Iterator[Served]:
    with viewer(run.path.parent) as found:
        yield found


def test_a_run_is_listed_with_its_state(run: Run, served: Served) -> None:
    (found,) = served.get("/api/runs")["runs"]
    assert (found["id"], found["name"], found["state"]) == (run.path.name, "shown", "done")
    assert (found["planned"], found["done"], found["agents"]) == (12, 12, ["linear", NAMES])


def test_nobody_is_called_best_in_a_tie(tmp_path: Path) -> None:
    agents = [{**policy("Linear"), "name": name} for name in ("one", "other")]
    run_evaluation(config_from_dict(examination(tmp_path, agents=agents)))
    with viewer(tmp_path) as served:
        (found,) = served.get("/api/runs")["runs"]
    assert found["best"]["agent"] == "2 agents alike"


def test_numbers_and_verdict_are_those_of_the_report(run: Run, served: Served) -> None:
    report, shown = run.report(), served.get(f"/api/runs/{run.path.name}")
    assert served.get(f"/api/runs/{run.path.name}/report") == report
    for agent in shown["by_agent"]:
        own = next(a for a in report["agents"] if a["agent"] == agent["agent"])
        assert agent["n"] == own["n"]
        assert agent["success"]["value"] == own["success"]["rate"]
        assert agent["success"]["interval"] == own["success"]["interval"]
        assert agent["score"]["value"] == own["score"]["mean"]
    rates = text.ranked_rates([agent["success"]["value"] for agent in shown["by_agent"]])
    assert [agent["success"]["text"] for agent in shown["by_agent"]] == rates
    for cell in shown["by_cell"]:
        assert cell["success"]["text"] == text.percent(cell["success"]["value"])
        assert cell["success"]["range"] == text.percent_range(Interval(*cell["success"]["interval"]))


def test_without_a_report_one_is_computed_and_not_written(tmp_path: Path) -> None:
    run = run_evaluation(config_from_dict(examination(tmp_path)))
    written = run.report()
    for name in ("report.json", "report.html"):
        (run.path / name).unlink()
    with viewer(tmp_path) as served:
        found = served.get(f"/api/runs/{run.path.name}/report")
        page = served.ask(f"/runs/{run.path.name}/files/report.html")
    assert found["verdict"] == written["verdict"]
    assert written["verdict"].encode() in page.body
    assert "sandbox" in page.getheader("content-security-policy")
    assert "script-src" not in page.getheader("content-security-policy")
    assert not (run.path / "report.json").exists()


def test_nothing_is_written_into_a_run(run: Run, served: Served) -> None:
    before, key = contents(run.path), "linear/toy/0000"
    name = run.path.name
    for path in ("", "/report", "/columns", "/trials", f"/trial?trial={key}", f"/series?trial={key}"):
        served.ask(f"/api/runs/{name}{path}")
    for path in (f"pages/compare?run={name}", f"pages/leaderboard?run={name}", f"runs/{name}/files/report.html"):
        assert served.ask(f"/{path}").status == 200
    assert contents(run.path) == before


def test_compare_is_proctor_compare(run: Run, served: Served) -> None:
    page = served.ask(f"/pages/compare?run={run.path.name}").body.decode()
    assert esc(verdict(compare([run.path]).comparison)) in page
    assert NAMES not in page
    assert "&lt;script&gt;" in page
    assert served.refused("/pages/compare?run=none").startswith('there is no run "none"')


@pytest.mark.parametrize(
    "path",
    [
        "config.json", "ledger.sqlite", "../x", "..%2f..%2fetc%2fpasswd", "trials/../config.json", "trials/link.npz",
        "/etc/passwd", "x%00y", "trials/x%00y.npz", f"videos/{'x' * 5000}.mp4", "trials/%ff.npz",
    ],
)  # fmt: skip
def test_files_outside_of_what_is_shown_are_refused(run: Run, served: Served, path: str) -> None:
    link = run.path / "trials" / "link.npz"
    link.unlink(missing_ok=True)
    link.symlink_to("/etc/hostname")
    try:
        answer = served.ask(f"/runs/{run.path.name}/files/{path}")
    finally:
        link.unlink()
    assert answer.status == 404
    assert served.ask(f"/runs/{run.path.name}/files/run.log").status == 200


def test_links_to_folders_elsewhere_are_not_followed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").symlink_to(run.path)
    with viewer(tmp_path) as served:
        assert served.get("/api/runs")["runs"] == []
        assert "no run" in served.refused(f"/api/runs/{run.path.name}")


def test_code_of_a_run_is_not_imported(tmp_path: Path) -> None:
    """Not even where the user has trusted it: to look is not to run."""
    mark, code = tmp_path / "imported", tmp_path / "own.py"
    code.write_text("def score(result):\n    return 0.25\n")
    run = run_evaluation(config_from_dict(examination(tmp_path / "runs", scoring=f"{code}:score")))
    code.write_text(f"open({str(mark)!r}, 'w')\ndef score(result):\n    return 0.25\n")
    with viewer(run.path.parent) as served:
        name = run.path.name
        assert served.get(f"/api/runs/{name}")["scored"] is False
        assert served.get(f"/api/runs/{name}/trials")["rows"][0]["score"] is None
        assert served.get(f"/api/runs/{name}/report")["agents"][0]["score_mean"] == 0.25  # from its own file
        (run.path / "report.json").unlink()
        assert "--trust" in served.refused(f"/api/runs/{name}/report")
        served.ask(f"/api/runs/{name}/trial?trial=linear/toy/0000")
    assert not mark.exists()


def test_a_run_that_cannot_be_read_costs_itself_alone(tmp_path: Path) -> None:
    good = run_evaluation(config_from_dict(examination(tmp_path)))
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "ledger.sqlite").write_bytes(b"no ledger")
    odd = run_evaluation(config_from_dict(examination(tmp_path, name="odd")))
    with sqlite3.connect(odd.path / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE trials SET steps_total = 'many'")
    with viewer(tmp_path) as served:
        found = {run["id"]: run for run in served.get("/api/runs")["runs"]}
        assert found[good.path.name]["state"] == "done"
        assert found["bad"]["state"] == "unreadable"
        assert "steps_total of trial linear/toy/0000 is" in found[odd.path.name]["why"]


def test_a_run_that_disappears_is_said_to_be_gone(tmp_path: Path) -> None:
    run = run_evaluation(config_from_dict(examination(tmp_path)))
    with viewer(tmp_path) as served:
        served.get(f"/api/runs/{run.path.name}")
        os.rename(run.path / "ledger.sqlite", run.path / "away")
        assert "is gone" in served.refused(f"/api/runs/{run.path.name}")


def test_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        run = run_evaluation(config_from_dict(examination(tmp_path / folder)))
        os.rename(run.path, run.path.with_name("same"))
    with viewer(tmp_path) as served:
        names = sorted(run["id"] for run in served.get("/api/runs")["runs"])
        assert len(names) == len(set(names)) == 2
        assert all(name.startswith("same~") for name in names)
        assert {served.get(f"/api/runs/{name}")["path"] for name in names} == {str(tmp_path / f / "same") for f in "ab"}


def test_every_answer_is_json_without_nan(run: Run, served: Served) -> None:
    def refuse(text: str) -> None:
        raise AssertionError(text)

    for path in ("", "/trials?show=action_abs_max", "/columns", "/trial?trial=linear/toy/0001"):
        json.loads(served.ask(f"/api/runs/{run.path.name}{path}").body, parse_constant=refuse)
