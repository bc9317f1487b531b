"""The files of `proctor compare`: `compare.json`, `compare.md`, `compare.html`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from proctor.report import text
from proctor.report.build import judgement
from proctor.report.draw.markup import definitions, finding_list, lead, number, spread, table
from proctor.report.draw.page import Block, Page, asset, render
from proctor.report.draw.pipes import bullets, document, escape, findings, more
from proctor.report.draw.pipes import table as pipe_table
from proctor.report.draw.svg import esc
from proctor.report.formats.files import plain, write_json, write_text
from proctor.report.model import Finding
from proctor.report.sections.differences import differences, differences_markdown, shown_measures
from proctor.report.sections.ranking import SHARED, standing_words
from proctor.verdict.comparison import MEASURES, Comparison, Difference, Pair, Standing, needed_trials
from proctor.verdict.gate import Alike, Gate, Likeness

MAX_AGENTS = 20


@dataclass(frozen=True)
class CompareReport:
    """What the files show. `runs`: label -> what is to be said of it. `failed`: the gate's decision, None without.
    `alike`: rulings on agents that may be equivalent, None where nobody asked."""

    name: str
    comparison: Comparison
    runs: Mapping[str, str]
    cautions: Sequence[str]
    gates: Sequence[Gate]
    failed: bool | None
    generated_at: str
    alike: Sequence[Likeness] | None = None

    @property
    def unlike(self) -> bool:
        """Whether some agents were not shown to be alike, where that was asked."""
        return any(found.ruling is not Alike.SHOWN for found in self.alike or ())

    @property
    def verdict(self) -> str:
        return judgement.verdict(self.comparison)


def write_comparison(folder: Path, report: CompareReport) -> None:
    """The three files, each whole or not at all."""
    write_json(folder / "compare.json", to_json(report))
    write_text(folder / "compare.md", to_markdown(report))
    write_text(folder / "compare.html", to_html(report))


def to_json(report: CompareReport) -> dict[str, Any]:
    rulings = [{**asdict(gate), "ruling": gate.ruling.value} for gate in report.gates]
    return plain(
        {
            "name": report.name,
            "generated_at": report.generated_at,
            "verdict": report.verdict,
            "cautions": list(report.cautions),
            "runs": dict(report.runs),
            "equivalence": _alike_keys(report),
            "gate": None if report.failed is None else {"failed": report.failed, "rulings": rulings},
            **comparison_keys(report.comparison),
        }
    )


def _alike_keys(report: CompareReport) -> dict[str, Any] | None:
    if report.alike is None:
        return None
    rulings = [{**asdict(found), "ruling": found.ruling.value} for found in report.alike]
    return {"shown": not report.unlike, "rulings": rulings}


def comparison_keys(found: Comparison) -> dict[str, Any]:
    return {
        "ranked_by": found.by,
        "level": found.level,
        "tasks": list(found.tasks),
        "winner": found.winner,
        "looked_again": found.looked,
        "correction": "Holm, each measure by itself",
        "agents": [_standing(agent) for agent in found.agents],
        "pairs": [_pair(found, pair) for pair in found.pairs],
    }


def _standing(agent: Standing) -> dict[str, Any]:
    names = {"rate": "success_rate", "rate_interval": "success_interval", "score": "score_mean"}
    keys = {names.get(name, name): value for name, value in asdict(agent).items()}
    return {**keys, "letters": {measure: agent.letters.get(measure) for measure in MEASURES}}


def _pair(found: Comparison, pair: Pair) -> dict[str, Any]:
    counts, better = pair.discordance, pair.improvement
    return {
        "a": pair.a,
        "b": pair.b,
        "paired": pair.paired,
        "unpaired_because": pair.unpaired_because,
        "n_a": pair.n_a,
        "n_b": pair.n_b,
        "estimand": pair.estimand,
        "n_unscored": pair.n_unscored,
        "n_without_partner": pair.n_single,
        "outcomes": None if counts is None else counts._asdict(),
        "success": _difference(found, pair, pair.success),
        "score": _difference(found, pair, pair.score),
        "probability_of_improvement": None if better is None else {"value": better.value, "interval": better.interval},
        "by_task": [asdict(task) for task in pair.tasks],
    }


def _difference(found: Comparison, pair: Pair, own: Difference) -> dict[str, Any]:
    test = own.test
    different = found.different(pair, own.measure)
    open_ = test is not None and not different and pair.a == found.agents[0].agent
    needed = needed_trials(found, pair, own.measure) if open_ else None
    return {
        "a": own.value_a,
        "b": own.value_b,
        "difference": own.value,
        "interval": own.interval,
        "interval_method": own.method,
        "no_interval_because": own.reason,
        "simultaneous_interval": own.simultaneous,
        "units": own.units,
        "with_trials_alike": own.pooled,
        "bounds": own.bounds,
        "p": None if test is None else test.p_value,
        "p_adjusted": own.p_adjusted,
        "test": None if test is None else test.method,
        "no_test_because": own.untested,
        "exact": None if test is None else test.exact,
        "different": different,
        "better": found.better(pair, own.measure),
        "effects": dict(own.effects),
        "trials_to_settle": None if needed is None else needed.n,
    }


def to_html(report: CompareReport) -> str:
    found = report.comparison
    facts = [
        ("Agents", f"{len(found.agents):,}"),
        ("Tasks", f"{len(found.tasks):,}"),
        ("Trials scored", f"{sum(agent.n for agent in found.agents):,}"),
        ("Ranked by", found.by),
    ]
    if report.failed is not None:
        facts.append(("Gate", '<a href="#gate">failed</a>' if report.failed else '<a href="#gate">passed</a>'))
    alike = [judgement.likeness_sentence(own) for own in report.alike or ()]
    blocks = [
        Block("gate", "Gate", _listed([judgement.gate_sentence(gate) for gate in report.gates], report.failed)),
        Block("equivalence", "Equivalence", _listed(alike, report.unlike)),
        Block("ranking", "Ranking", _ranking(found)),
        Block("cautions", "Before you use the numbers", _listed(report.cautions, True)),
        Block("differences", "Differences", differences(found)),
        Block("how", "What was compared", definitions(report.runs)),
    ]
    footer = f"Generated {esc(report.generated_at)} by Proctor. The same numbers for programs are in compare.json."
    styles = (asset("proctor.report", "comparison.css"),)
    return render(Page("Comparison", report.name, report.verdict, facts, blocks, footer, styles))


def _listed(words: Sequence[str], serious: bool | None) -> str:
    return finding_list([Finding("caution" if serious else "note", sentence) for sentence in words])


def _ranking(found: Comparison) -> str:
    words = (
        f"By mean {'score' if found.by == 'score' else 'success'} over the tasks that all agents have. Small numbers "
        f"are {text.percent(found.level)} intervals. {SHARED}"
    )
    if any(pair.n_single for pair in found.pairs):
        words += " Agents that came to exactly the same on the trials that both have share a rank."
    shown = shown_measures(found)
    named = [name for measure in shown for name in (measure.capitalize(), "Letters")]
    header = ["Agent", "n", *named, "Unscored"]
    words_of = standing_words(found)
    rows = []
    for agent in found.agents:
        own, letters = words_of[agent.agent], agent.letters
        cells = [cell for m in shown for cell in (spread(*own[m]), esc(letters.get(m) or text.NONE))]
        name = f'<span class="rank">{text.rank(agent.rank)}</span>{esc(agent.agent)}'
        rows.append([name, f"{agent.n:,}", *cells, number(agent.n_unscored)])
    return lead(words) + table("Agents in rank order", header, rows, "ranking")


def to_markdown(report: CompareReport) -> str:
    """Small enough for a pull-request comment: long lists are cut, and say so."""
    blocks = []
    if report.gates:
        blocks.append(f"**Gate {'failed' if report.failed else 'passed'}.**")
        blocks.append(bullets(map(judgement.gate_sentence, report.gates)))
    if report.alike is not None:
        blocks.append(f"**Equivalence {'not shown' if report.unlike else 'shown'}.**")
        blocks.append(bullets(map(judgement.likeness_sentence, report.alike)))
    blocks += [
        findings([Finding("caution", caution) for caution in report.cautions]),
        ranking_markdown(report.comparison),
        differences_markdown(report.comparison),
        "## What was compared",
        bullets(f"{label}: {words}" for label, words in report.runs.items()),
    ]
    return document(report.name, report.verdict, blocks, report.generated_at)


def ranking_markdown(found: Comparison) -> str:
    shown = shown_measures(found)
    interval = f"{text.percent(found.level)} interval"
    header = ["rank", "agent", "n", *(name for measure in shown for name in (measure, interval, "")), "unscored"]
    rows, words_of = [], standing_words(found)
    for agent in found.agents[:MAX_AGENTS]:
        own = words_of[agent.agent]
        cells = [cell for measure in shown for cell in (*own[measure], agent.letters.get(measure) or "")]
        first = [text.rank(agent.rank), escape(agent.agent), f"{agent.n:,}"]
        rows.append([*first, *cells, f"{agent.n_unscored:,}"])
    hidden = more(len(found.agents) - MAX_AGENTS, "agent", "the HTML file")
    return "## Ranking\n\n" + pipe_table(header, rows, left=2) + hidden
