"""Progress of a run: a live table on a terminal, plain lines elsewhere, JSON lines for machines. And the operator at
the terminal: who is asked where trials need a person."""

from __future__ import annotations

import abc
import json
import select
import sys
from typing import TYPE_CHECKING, Any

from proctor.cli.options import console, print_cautions, report_file
from proctor.rollout.attending import Operator, Question
from proctor.rollout.progress import Progress, node_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proctor.report import ReportContext
    from proctor.runs.session import RunEnd


PLAIN_EVERY_S = 5.0
MAX_AGENTS_SHOWN = MAX_NODES_SHOWN = 12


def make_display(as_json: bool, quiet: bool) -> Display:
    if as_json:
        return JsonLines(quiet)
    if quiet or not sys.stdout.isatty():
        return PlainLines(quiet)
    return LiveTable()


class Display(abc.ABC):
    """Shows a run while it goes on. It is entered before the first `update` and left after the last; then `result` is
    called once."""

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *exc: object) -> None:  # noqa: B027 - optional to override
        pass

    @abc.abstractmethod
    def update(self, progress: Progress) -> None: ...

    def result(self, finished: RunEnd) -> None:
        """The ranked table, where the reports are, and how to go on if something is missing."""
        from proctor.report.build.findings import broken_agents
        from proctor.report.console import below_ranking, ranked_table

        out, p, path = console(120), finished.progress, finished.run.path
        if finished.report is not None:
            for part in (ranked_table(finished.report), *below_ranking(finished.report)):
                out.print(part)
            for said in finished.report.context.rounding:
                out.print(f"note: {said}", markup=False)
            for line in _where_time_went(finished.report.context):
                out.print(line, markup=False)
            print_cautions(out, finished.report)
        out.print(f"{p.done} of {p.planned} trials done{_note(p)}", markup=False)
        if finished.report is not None:
            out.print(f"report: {report_file(path)}", markup=False, soft_wrap=True)
            if broken_agents(finished.report):
                out.print(f"log: {path / 'run.log'}", markup=False, soft_wrap=True)
        if not finished.complete:
            out.print(f"to go on: proctor resume {path}", markup=False, soft_wrap=True)


class LiveTable(Display):
    """A table on a terminal that is drawn again with every update, and removed at the end."""

    def __enter__(self) -> Display:
        from rich.live import Live

        self._live = Live(refresh_per_second=8, transient=True)
        self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()

    def update(self, progress: Progress) -> None:
        self._live.update(_table(progress))


class PlainLines(Display):
    """Prints a line when a phase begins and then every few seconds."""

    def __init__(self, quiet: bool):
        self._quiet = quiet
        self._phase, self._next = "", 0.0

    def update(self, progress: Progress) -> None:
        if self._quiet or (progress.phase == self._phase and progress.seconds < self._next):
            return
        self._phase, self._next = progress.phase, progress.seconds + PLAIN_EVERY_S
        print(f"[{progress.seconds:6.1f} s] {progress.phase}: {_line(progress)}", flush=True)


class JsonLines(Display):
    """Prints a JSON object about once a second, and one with the results at the end."""

    def __init__(self, quiet: bool):
        self._quiet = quiet
        self._next = 0.0

    def update(self, progress: Progress) -> None:
        if not self._quiet and progress.seconds >= self._next:
            self._next = progress.seconds + 1.0
            self._print({"event": "progress", **_numbers(progress)})

    def result(self, finished: RunEnd) -> None:
        from proctor.report.build.findings import broken_agents

        report = finished.run.report() if finished.report is not None else None
        self._print(
            {
                "event": "done" if finished.complete else "stopped",
                "run": str(finished.run.path),
                "complete": finished.complete,
                "cancelled": finished.cancelled,
                **_numbers(finished.progress),
                "time": None if report is None else report["time"],
                "batch": None if report is None else report["batch"],
                "results": None if report is None else report["agents"],
                "all_trials_broke": [a.agent for a in broken_agents(finished.report)] if finished.report else [],
            }
        )

    def _print(self, value: dict[str, Any]) -> None:
        print(json.dumps(value, allow_nan=False), flush=True)


def _numbers(p: Progress) -> dict[str, Any]:
    return {
        "phase": p.phase, "planned": p.planned, "done": p.done, "running": p.running, "unscored": p.unscored,
        "spared": p.spared, "retried": p.retried, "steps": p.steps, "seconds": round(p.seconds, 3),
        "rows_per_forward": p.rows_per_forward, "seconds_left": p.seconds_left, "waits_for": p.waits_for,
        **({"adrift": p.adrift, "nodes": node_numbers(p)} if p.nodes else {}),
    }  # fmt: skip


def _line(p: Progress) -> str:
    parts = [f"{p.done}/{p.planned} trials", f"{p.running} running", f"{p.steps / max(p.seconds, 1e-9):,.0f} steps/s"]
    if p.rows_per_forward is not None:
        parts.append(f"{p.rows_per_forward:.1f} rows/forward")
    if p.seconds_left is not None:
        parts.append(f"{duration(p.seconds_left)} left")
    return ", ".join(parts) + _note(p)


def _note(p: Progress) -> str:
    parts = [
        f"{p.spared} not needed" if p.spared else "",
        f"{p.unscored} unscored" if p.unscored else "",
        f"{p.retried} retried" if p.retried else "",
        f"{p.adrift} started again" if p.adrift else "",
    ]
    return "".join(f", {part}" for part in parts if part)


def _where_time_went(context: ReportContext) -> Iterator[str]:
    from proctor.report.sections.timing import batch_words, time_words

    if words := time_words(context.spent):
        yield f"time per slot: {words}"
    for agent, words in batch_words(context.batch):
        yield f"mean batch: {agent} {words}"


def _table(p: Progress) -> Any:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    from proctor.report.text import count

    head = Table.grid(padding=(0, 1))
    head.add_row(f"{p.phase}", ProgressBar(total=max(p.planned, 1), completed=p.done, width=40), _line(p))
    body = Table.grid(padding=(0, 2))
    for name, agent in list(p.agents.items())[:MAX_AGENTS_SHOWN]:
        rate = p.success_rate(name)
        success = "" if rate is None else f"success so far {rate:6.1%}"
        note = f"{agent.unscored} unscored" if agent.unscored else ""
        body.add_row(f"  {name}", f"{agent.scored} done", success, note)
    if len(p.agents) > MAX_AGENTS_SHOWN:
        body.add_row(f"  … and {count(len(p.agents) - MAX_AGENTS_SHOWN, 'more agent')}")
    return Group(head, body, *([_node_table(p)] if p.nodes else []))


def _node_table(p: Progress) -> Any:
    """A line for each node, those with the most workers first."""
    from rich.table import Table

    from proctor.report.text import count, percent

    body = Table.grid(padding=(0, 2))
    for name, node in list(node_numbers(p).items())[:MAX_NODES_SHOWN]:
        busy = "" if node["busy"] is None else f"{percent(node['busy'])} busy"
        lost = f"{count(node['lost'], 'attempt')} lost" if node["lost"] else ""
        workers = count(node["workers"], "worker") if node["workers"] else "gone"
        body.add_row(f"  {name}", workers, f"{node['trials_per_s']:.2f} trials/s", busy, lost)
    if len(p.nodes) > MAX_NODES_SHOWN:
        body.add_row(f"  … and {count(len(p.nodes) - MAX_NODES_SHOWN, 'more node')}")
    return body


def duration(seconds: float) -> str:
    """A duration in words: 42 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class TerminalOperator:
    """Asks on standard error and reads lines from standard input, which is a terminal."""

    def __init__(self) -> None:
        self._question: Question | None = None

    def ask(self, question: Question) -> None:
        while _typed() is not None:
            pass  # what was typed before the question is no answer to it
        self._question = question
        self._show()

    def _show(self) -> None:
        assert self._question is not None
        print(f"\a{self._question.text}", file=sys.stderr, flush=True)

    def answer(self) -> str | None:
        line = _typed()
        if line is None or self._question is None:
            return None
        said = line.strip().lower()
        if said in self._question.keys:
            return said
        self._show()
        return None

    def forget(self) -> None:
        self._question = None
        print("no answer is needed any more", file=sys.stderr, flush=True)


def _typed() -> str | None:
    """A line that has been typed; None: none."""
    ready, _, _ = select.select([sys.stdin], [], [], 0)
    return (sys.stdin.readline() or None) if ready else None


def terminal_operator() -> Operator | None:
    """Somebody who can be asked; None where there is no terminal."""
    return TerminalOperator() if sys.stdin is not None and sys.stdin.isatty() else None
