"""The benchmarks run, and their table says what was measured. How fast anything is, is not tested here."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def module(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", name, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    import benchmarks.table

    return benchmarks.table


def test_proctor_side_counts_every_step() -> None:
    done = module("benchmarks.proctor_side", "memory", "20")
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout.splitlines()[-1])
    assert set(measured) == {"whole", "steady", "peak_mb"}
    assert 0 < measured["whole"] <= measured["steady"]


def test_reports_of_a_made_up_run_are_measured() -> None:
    done = module("benchmarks.report_scale", "--trials", "200")
    assert re.match(r"reports of 200 trials, time: [\d.]+ s \(at most 0\)\n", done.stdout), done.stderr
    assert re.search(r"reports of 200 trials, memory: \d+\.\d MiB \(at most 1024\)", done.stdout)


def test_rounding_of_rows_is_measured() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")
    done = module("benchmarks.rounding", "--repeats", "1")
    rows = [line.split(" | ") for line in done.stdout.splitlines()[2:]]
    assert len(rows) == 8, done.stderr
    assert all(float(row[-1].removesuffix(" |")) > 0 for row in rows)


def test_unknown_comparison_is_refused_with_the_known_ones() -> None:
    done = module("benchmarks", "spede")
    assert done.returncode == 2
    assert "unknown comparison spede; choose from overhead, batching" in done.stderr


def test_table_shows_both_sides_and_their_ratio(table: Any) -> None:
    rows = [
        table.Row("a", 3000.0, 1000.0, "b", "steps/s", "at least 2", True, 3.0, "how"),
        table.Row("c", 0.25, 0.5, "d", "s", "", None, 0.5),
        table.Row("e", 1.0, 2.0, "f", "s", "at least 1", False, 0.5),
    ]
    assert table.markdown(rows).splitlines()[2:] == [
        "| a | 3,000 steps/s | 1,000 steps/s, b | 3 | at least 2 | yes |",
        "| c | 0.25 s | 0.5 s, d | 0.5 |  |  |",
        "| e | 1 s | 2 s, f | 0.5 | at least 1 | NO |",
        "",
        "- a: how",
    ]


@pytest.fixture
def bench(table: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """`python -m benchmarks` with made-up comparisons: `one` has two rows, `two` fails after a row unless it is mended,
    `three` is interrupted unless it is."""
    import benchmarks.__main__ as command

    mended: set[str] = set()
    ran: list[str] = []

    def comparison(name: str, ending: BaseException | None) -> Any:
        def measure(repeats: int) -> Any:
            ran.append(name)
            yield table.Row(f"{name} first", 2.0 * repeats, 1.0, "bare", "steps/s", "at least 1", True, 2.0)
            if ending is not None and name not in mended:
                raise ending
            yield table.Row(f"{name} second", 1.0, 1.0, "bare", "steps/s", "", None, 1.0, "how", 0.25)

        return measure

    endings = {"one": None, "two": ValueError("no such machine"), "three": KeyboardInterrupt()}
    monkeypatch.setattr(command, "COMPARISONS", {name: comparison(name, end) for name, end in endings.items()})
    monkeypatch.setattr(command, "machine", lambda: "a machine")
    monkeypatch.setattr("benchmarks.journal.ROOT", tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def run(*arguments: str) -> tuple[int, list[str]]:
        monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments])
        ran.clear()
        return command.main(), list(ran)

    return SimpleNamespace(run=run, mended=mended, kept=lambda: next((tmp_path / "results" / "bench").iterdir()))


def test_a_comparison_that_fails_is_a_row_and_the_others_go_on(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.run("two", "one", "--repeats", "1") == (1, ["two", "one"])
    assert capsys.readouterr().out.splitlines()[4:] == [
        "| two first | 2 steps/s | 1 steps/s, bare | 2 | at least 1 | yes |",
        "| two | failed | | |  | NO |",
        "| one first | 2 steps/s | 1 steps/s, bare | 2 | at least 1 | yes |",
        "| one second | 1 steps/s | 1 steps/s, bare | 1 ± 0.25 |  |  |",
        "",
        "- two: failed: ValueError: no such machine",
        "- one second: how",
    ]


def test_an_interrupted_benchmark_keeps_its_rows_and_goes_on(bench: Any, tmp_path: Path) -> None:
    whole = tmp_path / "whole.json"
    assert bench.run("--json", str(whole)) == (130, ["one", "two", "three"])
    named = [row["name"] for row in json.loads(whole.read_text())["rows"]]
    assert named == ["one first", "one second", "two first", "two", "three first"]
    kept = [json.loads(line) for line in bench.kept().read_text().splitlines()]
    assert [line["row"]["name"] for line in kept if "row" in line] == named
    bench.mended.update(["two", "three"])
    again = bench.run("--json", str(whole), "--resume", str(bench.kept()))
    assert again == (0, ["two", "three"]), "what failed and what was interrupted is measured anew"
    named = [row["name"] for row in json.loads(whole.read_text())["rows"]]
    assert named == [f"{name} {row}" for name in ("one", "two", "three") for row in ("first", "second")]
    assert bench.run("--resume", str(bench.kept())) == (0, []), "nothing is missing"


def test_a_line_that_was_cut_by_a_kill_is_passed_over(bench: Any) -> None:
    bench.run("one")
    text = bench.kept().read_text()
    bench.kept().write_text(text[:-20])
    assert bench.run("one", "--resume", str(bench.kept())) == (0, ["one"])


def test_another_checkout_must_be_one(tmp_path: Path) -> None:
    done = module("benchmarks", "start", "--against", str(tmp_path))
    assert done.returncode == 2
    assert f"{tmp_path} is no checkout of Proctor: it has no folder benchmarks" in done.stderr


def test_two_checkouts_are_measured_in_turns(table: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import benchmarks.against as compared

    asked: list[Path] = []

    def measure(tree: Path) -> float:
        asked.append(tree)
        return 3.0 if tree == tmp_path else 2.0

    ours, theirs = compared.in_rounds(measure, tmp_path, 2)
    assert asked == [ROOT, tmp_path, tmp_path, ROOT] * 2
    assert (ours.tolist(), theirs.tolist()) == ([2.0] * 4, [3.0] * 4)
    slower = compared.row("a", "steps/s", tmp_path, ours, theirs)
    assert (slower.proctor, slower.other) == (2.0, 3.0)
    assert (slower.ratio, slower.error) == pytest.approx((2 / 3, 0.0))
    assert [compared.row("a", unit, tmp_path, ours, theirs).met for unit in ("steps/s", "s", "MB")] == [
        False,
        True,
        True,
    ]


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".venv" / "bin" / "python").exists(), reason="a checkout is run by its own .venv")
def test_endless_cases_are_measured_beside_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """This checkout against itself, with turns that are too short to say anything."""
    monkeypatch.syspath_prepend(str(ROOT))
    import benchmarks.against as compared
    import benchmarks.turns

    monkeypatch.setattr(benchmarks.turns, "WARM", 100)
    monkeypatch.setattr(benchmarks.turns, "TURN_S", 0.2)
    monkeypatch.setattr(compared, "TURNS", 2)
    rows = list(compared.against(ROOT / "benchmarks" / "..", "cameras", 1))
    names = ["two 256x256 images, 2 processes", "two 256x256 images, 2 processes, processor time"]
    assert [row.name for row in rows] == names
    assert all(row.proctor > 0 and row.other > 0 for row in rows)


def test_vla_eval_sees_the_same_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two sides cannot share code, so what makes them comparable is held equal here."""
    monkeypatch.syspath_prepend(str(ROOT))
    import benchmarks.envs

    source = (ROOT / "benchmarks" / "vla_eval_side.py").read_text()
    assert f"EPISODE_STEPS = {benchmarks.envs.EPISODE_STEPS}" in source
    picture = "np.stack([x, y, (x + y) // 2], axis=-1).astype(np.uint8)"
    assert picture in source
    assert picture in Path(benchmarks.envs.__file__).read_text()


def test_a_share_is_what_was_slept_of_what_the_slots_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.staged import Forwards

    forwards = Forwards(began=10.0, ended=[("plan", 10.1, 2), ("act", 10.2, 2), ("act", 10.4, 1), ("plan", 12.0, 2)])
    rates = forwards.rates(until=10.5, slots=2)
    assert rates["steady"] == pytest.approx(2 / 0.5)
    assert rates["share"] == pytest.approx((2 * 0.06 + 3 * 0.02) / (2 * 0.5))


def test_the_serial_loop_makes_no_more_plans_than_its_sleep_allows() -> None:
    done = module("benchmarks.staged", "loop", "random")
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout.splitlines()[-1])
    assert 0 < measured["share"] <= 1


COUNTING = """
import subprocess, sys, time
from benchmarks.turns import Counter

if sys.argv[1] == "child":
    counter = Counter()
    while True:
        counter.add(1)
        time.sleep(0.002)
subprocess.run([sys.executable, "-c", sys.argv[2], "child"], start_new_session=True)
"""


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    import benchmarks.turns

    monkeypatch.setattr(benchmarks.turns, "WARM", 5)
    monkeypatch.setattr(benchmarks.turns, "TURN_S", 0.1)
    return benchmarks.turns


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found under /proc")
def test_commands_take_turns_with_all_their_processes(turns: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", COUNTING, "parent", COUNTING]
    runners: list[Any] = []
    turn = turns.Runner.turn

    def alone(self: Any) -> float:
        runners.extend({self} - set(runners))
        others = {other: other.count() for other in runners if other is not self}
        found = turn(self)
        assert all(other.count() == count for other, count in others.items()), "the others stand still"
        return found

    monkeypatch.setattr(turns.Runner, "turn", alone)
    found = turns.rates({"one": command, "other": command}, 4)
    assert {name: len(values) for name, values in found.items()} == {"one": 4, "other": 4}
    assert (found["one"] > 0).all()
    ratio, error = turns.ratio(found["one"], found["one"])
    assert (ratio, error) == (1.0, 0.0)
    assert [runner.end() for runner in runners] == [-9, -9], "they have been ended"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found under /proc")
def test_processor_time_is_compared_over_all_turns(turns: Any) -> None:
    ours = [turns.Turn(count, 1.0, spent) for count, spent in [(10, 0.1), (20, 0.3), (0, 0.0), (30, 0.2)]]
    theirs = [turn._replace(counted=2 * turn.counted) for turn in ours]
    found = turns.by_processor(ours, theirs)
    ratio, _ = turns.ratio(*found)
    assert ratio == pytest.approx(0.5)
    same = [turns.Turn(10, 0.4, 0.2)] * 5
    assert [values.tolist() for values in turns.by_processor(same, same)] == [pytest.approx([50.0] * 5)] * 2
    assert turns.by_clock(same).tolist() == [25.0] * 5


def test_a_command_that_ends_is_no_measurement(turns: Any) -> None:
    with pytest.raises(RuntimeError, match="no such benchmark"):
        turns.rates({"one": [sys.executable, "-c", "raise SystemExit('no such benchmark')"]}, 1)


def test_the_first_example_is_measured_beside_a_loop(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    from benchmarks import first_example

    monkeypatch.setattr(first_example, "POLICIES", {"an ONNX file": first_example.POLICIES["an ONNX file"]})
    rows = list(first_example.first_example(1, trials=2))
    assert [row.name for row in rows] == [
        f"first example, an ONNX file, 2 trials, {kind}" for kind in ("processor", "clock")
    ]
    assert all(row.proctor > 0 and row.other > 0 and row.ratio == row.proctor / row.other for row in rows)
