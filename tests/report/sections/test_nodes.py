"""Where trials ran: by node, for each trial, and a caution where devices were of several kinds."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from made_up_runs import config, made_up

from proctor.errors import InputError
from proctor.record.ledger import Ledger
from proctor.record.rundir import RunDir
from proctor.report.formats.json_file import to_json
from proctor.report.formats.pages import to_html, to_markdown
from proctor.runs.report import write_report
from proctor_host.trials import Trial


def node(name: str, device: str) -> dict[str, Any]:
    return {"node": name * 8, "host": f"host-{name}", "address": "10.0.0.1", "devices": [device]}


CPU, GPU, OTHER = node("a", "CPU (X)"), node("b", "GPU Y"), node("c", "GPU Z")


def run_on(root: Path, nodes: list[dict[str, Any]], policies: int) -> RunDir:
    """A run of 8 trials whose environments were on the first node, and whose policies were asked on others in turn."""
    run = made_up(config(root, ("solo",), ("reach",), n_trials=8), lambda trial: True)
    with run.ledger() as ledger:
        trials = [result.trial for result in ledger.results()]
        ledger.place([(trial, 0, 1 + trial.index % policies) for trial in trials], nodes)
    return run


def test_each_node_has_its_trials_and_each_trial_its_nodes(tmp_path: Path) -> None:
    run = run_on(tmp_path, [CPU, GPU], 1)
    report = write_report(run)
    assert [(own["trials"], own["asked"]) for own in to_json(report)["nodes"]] == [(8, 0), (0, 8)]
    for page in (to_html(report), to_markdown(report)):
        assert "Where it ran" in page
        assert "host-b (10.0.0.1, bbbbbb)" in page
    with (run.path / "nodes.csv").open() as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    assert [row["trial"] for row in rows] == [str(i) for i in range(8)]
    assert {row["environment_devices"] for row in rows} == {"CPU (X)"}
    assert {row["policy_node"] for row in rows} == {"host-b (10.0.0.1, bbbbbb)"}
    assert not [finding for finding in report.findings if "several kinds" in finding.text]


def test_kinds_of_devices_that_are_mixed_are_a_caution(tmp_path: Path) -> None:
    report = write_report(run_on(tmp_path, [CPU, GPU, OTHER], 2))
    (said,) = [finding for finding in report.findings if "several kinds" in finding.text]
    assert said.level == "caution"
    assert said.text.startswith(
        "Policies were asked on devices of several kinds: GPU Y (4 trials) and GPU Z (4 trials)."
    )


def test_a_run_of_one_machine_says_nothing_of_nodes(tmp_path: Path) -> None:
    run = made_up(config(tmp_path, ("solo",), ("reach",), n_trials=4), lambda trial: True)
    report = write_report(run)
    assert "nodes" not in to_json(report)
    assert "Where it ran" not in to_html(report) + to_markdown(report)
    assert not (run.path / "nodes.csv").exists()


def test_policies_asked_where_the_environment_was_have_no_node_of_their_own(tmp_path: Path) -> None:
    run = made_up(config(tmp_path, ("solo",), ("reach",), n_trials=2), lambda trial: True)
    with run.ledger() as ledger:
        ledger.place([(result.trial, 0, None) for result in ledger.results()], [CPU])
        assert [(trial.index, worker, policy) for trial, worker, policy in ledger.placed()] == [
            (0, 0, None),
            (1, 0, None),
        ]
        assert [(own["trials"], own["asked"]) for own in ledger.nodes()] == [(2, 0)]


@pytest.mark.parametrize("notes", [[{"node": 1}], ["x"], {"a": 1}, [{**CPU, "devices": "CPU"}]])
def test_notes_of_nodes_that_are_no_such_are_named(tmp_path: Path, notes: Any) -> None:
    with Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        ledger.set_meta("nodes", notes)
        with pytest.raises(InputError, match="the ledger is damaged"):
            ledger.nodes()


def test_nodes_without_trials_are_named(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        ledger.set_meta("nodes", [CPU])
        with pytest.raises(InputError, match="not where trials were done"):
            ledger.nodes()


def test_a_second_place_of_a_trial_replaces_the_first(tmp_path: Path) -> None:
    """A trial is done again where its record was lost."""
    with Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        trial = Trial("solo", "reach", 0, 7)
        ledger.add([(trial, 0, 0)])
        ledger.place([(trial, 0, None)], [CPU, GPU])
        ledger.place([(trial, 1, None)], [CPU, GPU])
        assert [(t, worker) for t, worker, _ in ledger.placed()] == [(trial, 1)]


def test_a_run_s_name_for_a_host_alone_is_the_host() -> None:
    from proctor.record.nodes import name_of

    alone = {"node": "n1", "host": "n1", "address": "n1", "devices": ["GPU"]}
    assert (name_of(alone), name_of(CPU)) == ("n1", "host-a (10.0.0.1, aaaaaa)")
