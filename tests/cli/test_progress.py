"""Following a run: a table on a terminal, lines elsewhere, JSON for machines."""

from __future__ import annotations

import io
import json
import sys

import pytest
from rich.console import Console

from proctor.cli.progress import JsonLines, LiveTable, PlainLines, _table, duration, make_display
from proctor.rollout.progress import AgentProgress, NodeProgress, Progress


def progress(**keys: object) -> Progress:
    found = Progress(planned=100, done=30, running=8, steps=900, forwards=10, rows=75, seconds=3.0, phase="running")
    found.agents = {"ppo": AgentProgress(20, 5, 0), "sac": AgentProgress(0, 0, 10)}
    for name, value in keys.items():
        setattr(found, name, value)
    return found


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (200, "3 min 20 s"),
        (3599.7, "1 h 0 min"),
        (7500, "2 h 5 min"),
    ],
)
def test_times_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_line_at_each_phase_and_then_every_few_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    display = PlainLines(quiet=False)
    for phase, seconds in (("starting", 0.0), ("running", 0.1), ("running", 1.0), ("running", 5.2), ("stopping", 5.3)):
        display.update(progress(phase=phase, seconds=seconds))
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "[   0.0 s] starting",
        "[   0.1 s] running",
        "[   5.2 s] running",
        "[   5.3 s] stopping",
    ]


def test_what_a_line_says(capsys: pytest.CaptureFixture[str]) -> None:
    PlainLines(quiet=False).update(progress(unscored=2, retried=1))
    assert capsys.readouterr().out == (
        "[   3.0 s] running: 30/100 trials, 8 running, 300 steps/s, 7.5 rows/forward, 7 s left, 2 unscored, 1 retried\n"
    )


def test_nodes_of_a_cluster_have_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = {f"node {i}": NodeProgress(workers=i, trials=10, lost=int(i == 2), busy_s=3, worker_s=4) for i in range(14)}
    shown = progress(nodes=nodes, adrift=2)
    out = Console(width=120, file=io.StringIO())
    out.print(_table(shown))
    lines = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert "node 13" in lines[4]
    assert "13 workers" in lines[4]
    assert "75 % busy" in lines[4]
    assert lines[-1].strip() == "… and 2 more nodes"
    assert "1 attempt lost" in next(line for line in lines if "node 2 " in line)
    JsonLines(quiet=False).update(shown)
    told = json.loads(capsys.readouterr().out)
    assert told["adrift"] == 2
    assert told["nodes"]["node 0"]["workers"] == 0
    assert told["nodes"]["node 0"]["trials_per_s"] == 0.0, "it has gone, and does nothing"
    assert told["nodes"]["node 13"]["trials_per_s"] > 0.0
    assert next(iter(told["nodes"])) == "node 13"


def test_time_left_is_by_the_rate_of_this_session() -> None:
    assert progress(done_before=20).seconds_left == pytest.approx(21.0)
    assert progress(done_before=30).seconds_left is None, "nothing is known yet"
    assert progress(done=100).seconds_left == 0.0


def test_machines_get_an_object_a_second(capsys: pytest.CaptureFixture[str]) -> None:
    display = JsonLines(quiet=False)
    for seconds in (0.0, 0.5, 1.1, 1.2, 2.2):
        display.update(progress(seconds=seconds))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["event"], line["seconds"]) for line in lines] == [
        ("progress", 0.0), ("progress", 1.1), ("progress", 2.2)
    ]  # fmt: skip
    assert {"planned", "done", "running", "unscored", "retried", "steps", "rows_per_forward", "seconds_left"} <= set(
        lines[0]
    )


def test_quiet_says_nothing_on_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    for display in (PlainLines(quiet=True), JsonLines(quiet=True)):
        display.update(progress())
    assert capsys.readouterr().out == ""


def test_the_table_shows_each_agent_and_its_success_so_far() -> None:
    text = io.StringIO()
    Console(file=text, width=120).print(_table(progress()))
    assert "30/100 trials" in text.getvalue()
    rows = {line.split()[0]: line for line in text.getvalue().splitlines() if line.strip()}
    assert "success so far  25.0%" in rows["ppo"]
    assert "10 unscored" in rows["sac"]


def test_a_table_of_many_agents_stays_short() -> None:
    text = io.StringIO()
    many = progress(agents={f"agent{i}": AgentProgress(1, 1, 0) for i in range(40)})
    Console(file=text, width=120).print(_table(many))
    assert "… and 28 more agents" in text.getvalue()
    assert len(text.getvalue().splitlines()) < 20


@pytest.mark.parametrize(
    ("as_json", "quiet", "terminal", "kind"),
    [
        (False, False, True, LiveTable),
        (False, True, True, PlainLines),
        (False, False, False, PlainLines),
        (True, False, True, JsonLines),
    ],
)
def test_the_display_fits_the_place(
    monkeypatch: pytest.MonkeyPatch, as_json: bool, quiet: bool, terminal: bool, kind: type
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert type(make_display(as_json, quiet)) is kind
