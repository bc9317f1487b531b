"""A run as its user has it: frames agree, nothing is written, names are escaped."""

from __future__ import annotations

import os
import re
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest
from own_envs import make_slope, pull

import proctor
from proctor import InputError, Run

NASTY = '<script>alert("x")</script>&'


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    agents = {"pull": pull, "random": "random", NASTY: lambda o: pull(o) * 0.5}
    return proctor.evaluate(agents, {"slope": make_slope}, n=5, out=tmp_path_factory.mktemp("runs"), progress=False,
                            workers="inline", scoring="return")  # fmt: skip


def state_of(folder):
    return {
        os.path.relpath(os.path.join(top, name), folder): os.stat(os.path.join(top, name)).st_mtime_ns
        for top, _, names in os.walk(folder)
        for name in names
    }


def test_opening_and_showing_a_run_writes_nothing(run):
    before = state_of(run.path)
    opened = Run.open(run.path)
    shown = [str(opened), opened._repr_html_(), opened.frame("numpy"), opened.plot.scores(), opened.plot.differences()]
    assert all([*shown, opened.signals("pull/slope/0"), opened.compare()])
    assert state_of(run.path) == before


def test_a_run_needs_its_folder_only(run, tmp_path):
    moved = shutil.copytree(run.path, tmp_path / "elsewhere")
    assert str(Run.open(moved)).replace(str(moved), "") == str(run).replace(str(run.path), "")


def test_latest_is_the_newest_run(run, monkeypatch):
    assert Run.open(run.path.parent / "latest").path == run.path


def test_a_terminal_shows_table_verdict_and_path(run):
    shown = str(run)
    assert "rank   agent" in shown
    assert " ".join(run.verdict.split()) in " ".join(shown.split())
    assert re.sub(r"\s", "", str(run.path)) in re.sub(r"\s", "", shown)
    assert repr(run) == f"Run({str(run.path)!r})"


def test_a_notebook_shows_table_plots_and_verdict_with_names_escaped(run):
    page = run._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert page.count("<svg ") == 3
    assert "interval" in page
    for drawn in re.findall(r"<svg .*?</svg>", page, flags=re.DOTALL):
        ElementTree.fromstring(drawn)


@pytest.mark.parametrize("plot", ["scores", "success", "differences"])
def test_drawings_are_svg_that_stands_alone(run, plot, tmp_path):
    drawing = getattr(run.plot, plot)()
    ElementTree.fromstring(drawing._repr_svg_())
    assert "class=" not in drawing.svg
    assert drawing.save(tmp_path / "a.svg").read_text() == drawing.svg
    assert "pull" in repr(drawing)


def test_signals_by_key_trial_result_or_index(run, tmp_path):
    result = run.trial("pull/slope/3")
    for which in (result, result.trial, "pull/slope/0003"):
        np.testing.assert_array_equal(run.signals(which)["rewards"], run.signals("pull/slope/3")["rewards"])
    assert len(run.signals(result)["rewards"]) == result.steps_total
    drawn = run.plot.signal(result, "actions")
    assert "12 steps" in repr(drawn)
    alone = proctor.evaluate(pull, make_slope, n=1, out=tmp_path, progress=False, workers="inline")
    assert len(alone.signals(0)["rewards"]) == 12


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda run: run.trial("pull/slope/99"), 'no finished trial "pull/slope/0099"; it has pull/slope/0000'),
        (lambda run: run.trial(3), "trial 3 of which agent and task\\? Write it out, such as 'pull/slope/3'"),
        (lambda run: run.plot.signal("pull/slope/0", "reward"), 'has no "reward".*rewards'),
        (lambda run: run.frame("excel"), 'found the kind "excel"; expected one of pandas, polars, arrow, numpy'),
    ],
)
def test_what_is_not_there_is_said(run, ask, sentence):
    with pytest.raises(InputError, match=sentence):
        ask(run)


def test_success_that_nothing_defines_is_not_plotted(tmp_path):
    run = proctor.evaluate("random", "CartPole-v1", n=1, out=tmp_path, progress=False, workers="inline")
    with pytest.raises(InputError, match="nothing says what success is on these tasks"):
        run.plot.success()
    with pytest.raises(InputError, match="differences need two agents"):
        run.plot.differences()


def test_frames_of_all_kinds_agree(run):
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    columns = run.frame("numpy")
    assert len(columns["agent"]) == 15
    assert isinstance(run.frame(), pandas.DataFrame)
    frames = {
        "pandas": run.frame("pandas").to_dict("list"),
        "polars": run.frame("polars").to_dict(as_series=False),
        "arrow": pyarrow.table(run.frame("arrow")).to_pydict(),
    }
    for kind, found in frames.items():
        assert list(found) == list(columns), kind
        for name in ("agent", "task", "trial", "seed", "score", "outcome", "steps_total"):
            assert [str(v) for v in found[name]] == [str(v) for v in columns[name].tolist()], (kind, name)
    assert polars.DataFrame(run.frame("arrow")).height == 15


def test_arrow_and_numpy_need_no_further_package(run, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    table = run.frame()
    assert repr(table).startswith("ArrowTable(15 trials")
    assert table.relation().aggregate("count(*)").fetchall() == [(15,)]
    with pytest.raises(InputError, match="polars is not installed: pip install polars"):
        run.frame("polars")


def test_comparing_with_another_run(run, tmp_path):
    other = proctor.evaluate({"half": lambda o: pull(o) * 0.1}, {"slope": make_slope}, n=5, out=tmp_path,
                             progress=False, workers="inline", scoring="return")  # fmt: skip
    found = run.compare(other)
    assert {pair.paired for pair in found.comparison.pairs} == {True}
    assert "half" in str(found)
    assert found.verdict in found._repr_html_().replace("&#x27;", "'") or NASTY in found.verdict
    assert "<script" not in found._repr_html_()


def test_progress_in_a_notebook_is_drawn_and_taken_away(monkeypatch):
    ipython = pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    from proctor import Progress
    from proctor.runs.evaluate import in_notebook, shown

    assert not in_notebook()
    shell = type("ZMQInteractiveShell", (InteractiveShell,), {})()
    monkeypatch.setattr(ipython, "get_ipython", lambda: shell)
    monkeypatch.setattr(InteractiveShell, "_instance", shell)
    assert in_notebook()
    with capture_output() as captured, shown(None) as observer:
        assert observer is not None
        observer(Progress(planned=10, done=4, phase="<running>"))
        observer(Progress(planned=10, done=9))
    drawn = [output.data["text/html"] for output in captured.outputs]
    assert 'value="4" max="10"' in drawn[0]
    assert "&lt;running&gt;" in drawn[0]
    assert drawn[-1] == ""


def test_a_policy_that_broke_every_trial_is_said_to_have(tmp_path):
    def boom(observation):
        raise ValueError("no such joint")

    run = proctor.evaluate(boom, make_slope, n=2, out=tmp_path, progress=False, workers="inline")
    assert "caution: " in str(run)
    assert "no such joint" in " ".join(str(run).split())
    assert "no such joint" in run._repr_html_()
