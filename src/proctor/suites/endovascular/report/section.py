"""Navigation in vessels in a report: where the tip went, and how hard the wall was pressed, where and when. Curves are
in `curves`, pictures as files in `pictures`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from proctor.config.models import AgentCfg, EvalConfig
from proctor.report import text
from proctor.report.draw import svg
from proctor.report.draw.markup import lead
from proctor.report.draw.page import asset
from proctor.report.draw.palette import scale_bar
from proctor.report.draw.svg import esc
from proctor.report.model import Finding, Report
from proctor.report.section import Column, Section
from proctor.suites.endovascular.report import drawing
from proctor.suites.endovascular.report.curves import by_agent, force_curves
from proctor.suites.endovascular.report.drawing import Scales
from proctor.suites.endovascular.report.model import Passage
from proctor.suites.endovascular.report.pictures import write_pictures
from proctor.suites.endovascular.report.records import read_passages

SIMULATORS = {"endovascular": "the embedded simulator", "steve": "SOFA through stEVE"}
"""By suite."""
FORCES_NEED = {"steve": "it needs use_non_mp_sim: true, and a scene with SOFA's LCP solver and contact plugins"}


def tool_name(cfg: EvalConfig, agent: AgentCfg) -> str | None:
    """What the agent works with: its own tool, else the one that all tasks have; "custom" where it has no name."""
    tools = [task.for_agent(agent).options.get("tool") for task in cfg.tasks]
    if any(tool is None or tool != tools[0] for tool in tools):
        return None
    return tools[0] if isinstance(tools[0], str) else "custom"


MOTION = (
    "path_ratio_last",
    "trajectory_length_last",
    "avg_translation_speed_last",
    "tip_speed_max_mm_s",
    "tip_speed_mean_mm_s",
)
WALL = (
    "wall_lcp_max_abs_max",
    "wall_lcp_sum_abs_mean",
    "wall_wire_force_norm_max",
    "wall_wire_force_norm_mean",
    "wall_collision_force_norm_max",
    "wall_collision_force_norm_mean",
    "wall_force_max",
)
UNITS = {
    "tip_pos3d": "mm", "tip_vel3d": "mm/s", "inserted_length": "mm", "rotation": "rad", "trajectory_length": "mm",
    "avg_translation_speed": "mm/s", "path_ratio": "share", "wall_force_pos3d": "mm",
    "wall_wire_force_norm": "{force_unit}", "wall_collision_force_norm": "{force_unit}",
    "wall_lcp_max_abs": "{force_unit}", "wall_lcp_sum_abs": "{force_unit}", "wall_contact_count": "contacts",
}  # fmt: skip
"""Of signals whose names do not say theirs."""
COMPONENTS = ("success", "efficiency", "safety", "smoothness")
"""Columns that other programs know, in their order."""

ENDS = {"success": "reached", "truncated": "out of time", "failure": "failed"}


class Vessels(Section):
    """Pictures and curves task by task, as far as passages were recorded; the columns of other endovascular evaluators;
    and which simulator ran."""

    key, title, place, suites = "vessels", "Path and wall force", 100, tuple(SIMULATORS)
    signs = ("tip_speed_mean_mm_s",)
    signal_units = UNITS
    columns = (
        Column("tool", "agent", of_agent=tool_name),
        *(Column(name, "episode_reward", metric=name) for name in MOTION),
        *(Column(name, "sim_time_s", metric=name) for name in WALL),
        *(Column(f"score_{name}", "score", component=name) for name in COMPONENTS),
    )
    agent_columns = (
        Column("tool", "agent", of_agent=tool_name),
        Column("tip_speed_max_mean_mm_s", "steps_to_success_mean", metric="tip_speed_max_mm_s"),
        Column("wall_force_max_mean", "steps_to_success_mean", metric="wall_force_max"),
    )

    def read(self, folder: Path, report: Report) -> tuple[Passage, ...]:
        return read_passages(folder, report)

    def write(self, folder: Path, data: Sequence[Passage]) -> None:
        write_pictures(folder, data)

    def html(self, report: Report, data: Sequence[Passage] | None) -> str:
        if not data:
            return ""
        tasks = list(dict.fromkeys(p.task for p in data))
        blocks = []
        for task in tasks:
            passages = [p for p in data if p.task == task]
            heading = f"<h3>{esc(task)}</h3>\n" if len(tasks) > 1 else ""
            blocks.append(f"{heading}{_pictures(report, task, passages)}{force_curves(passages)}")
        vessels = {p.vessel.key: p.vessel for p in data if p.vessel is not None}
        groups = "".join(map(drawing.vessel_group, vessels.values()))  # every vessel once; pictures refer to it
        defs = f'<svg class="defs" width="0" height="0" aria-hidden="true"><defs>{groups}</defs></svg>\n'
        return (defs if vessels else "") + "".join(blocks)

    def keys(self, report: Report, data: Sequence[Passage] | None) -> dict[str, Any]:
        return {"passages": [passage.keys() for passage in data]} if data else {}

    def findings(self, report: Report) -> Iterator[Finding]:
        """A caution for each agent with scored trials in which no force was measured, so that safety has no value."""
        if (
            "safety" not in report.scoring.components
            or report.scoring.settings["options"].get("missing_force") == "perfect"
        ):
            return
        suites = {task.task: task.suite for task in report.tasks}
        for agent in report.agents:
            for cell in agent.cells:
                safety = cell.summary.components.get("safety")
                if suites[cell.task] not in SIMULATORS or safety is None or not safety.n_missing:
                    continue
                hint = FORCES_NEED.get(suites[cell.task])
                yield Finding(
                    "caution",
                    f"{agent.agent} on {cell.task}: no force was measured in {safety.n_missing} of "
                    f"{text.count(cell.summary.n, 'scored trial')}; their safety is unscored and its weight is left out"
                    + (f" ({hint})." if hint else "."),
                )

    def opening(self, report: Report) -> str:
        """Which simulators ran; "" where no task has some to choose from."""
        names = list(dict.fromkeys(SIMULATORS[task.suite] for task in report.tasks if task.suite in SIMULATORS))
        return f"Simulated by {text.listed(names)}." if names else ""

    def styles(self) -> str:
        return f"{asset('proctor.suites.endovascular.report', 'vessel.css')}\n{drawing.scale_rules()}"


def _pictures(report: Report, task: str, passages: Sequence[Passage]) -> str:
    measured = [p for p in passages if p.force is not None]
    seeds = sorted({p.seed for p in passages if p.pictured})
    view = drawing.scales_of(passages)
    rows = "".join(_row(agent, own, seeds, view) for agent, own in by_agent(passages).items())
    return lead(_words(report, task, passages, bool(measured))) + _key(view, passages, measured) + rows


def _words(report: Report, task: str, passages: Sequence[Passage], measured: bool) -> str:
    agents, columns = len(by_agent(passages)), len({p.seed for p in passages if p.pictured})
    trials = max(cell.summary.n_trials for agent in report.agents for cell in agent.cells if cell.task == task)
    of_agents = f" and {agents} of {text.count(len(report.agents), 'agent')}" if agents < len(report.agents) else ""
    left_out = (
        f" {columns} of {text.count(trials, 'trial')}{of_agents} are shown." if columns < trials or of_agents else ""
    )
    force = (
        " Last in a row, the paths of the agent's trials coloured by wall force: the larger of the forces on the wire "
        "and on its collision model, as in wall_force_max. A ring marks where the largest force of a trial acted."
    )
    return (
        "The C-arm's view: the path of the tip, coloured by time, and the wire as it lay at the end; a column is one "
        f"seed.{left_out}{force if measured else ' No wall force was measured: nothing is said about safety.'}"
    )


def _key(view: Scales, passages: Sequence[Passage], measured: Sequence[Passage]) -> str:
    items = [f"<li>0 {scale_bar('t')} {text.number(view.longest)} {passages[0].time_unit}</li>"]
    if any(p.wire is not None for p in passages):
        items.append(_sample('<path class="wire" d="M0 7H14"/>', "wire at the end"))
    if any(p.target is not None for p in passages):
        items.append(_sample('<circle class="goal" cx="7" cy="7" r="5"/>', "target"))
    if measured:
        top = f"{text.number(view.hardest)} {esc(measured[0].force_unit)} or more"
        items.append(f"<li>0 {scale_bar('w')} {top}</li>")
        items.append(_sample('<circle class="peak" cx="7" cy="7" r="4"/>', "peak force"))
    return f'<ul class="key" aria-label="Colours and lines">{"".join(items)}</ul>\n'


def _sample(shape: str, words: str) -> str:
    return f'<li><svg class="view sample" viewBox="0 0 14 14" aria-hidden="true">{shape}</svg> {words}</li>'


def _row(agent: str, passages: Sequence[Passage], seeds: Sequence[int], view: Scales) -> str:
    own = {p.seed: p for p in passages if p.pictured}
    cells = "".join(_cell(own.get(seed), seed, view) for seed in seeds)
    force = _force_map(agent, [p for p in passages if p.force is not None], view)
    return f'<div class="passages" style="--seeds: {len(seeds)}"><h4>{esc(agent)}</h4>{cells}{force}</div>\n'


def _cell(passage: Passage | None, seed: int, view: Scales) -> str:
    if passage is None:
        return f'<p class="passage span">seed {seed}: not recorded</p>'
    words = ", ".join(facts(passage))
    label = esc(f"{passage.agent}, seed {seed}: {words}")
    drawn = drawing.picture(passage, view.frame, view.longest)
    video = f', <a href="{svg.beside(passage.video)}">video</a>' if passage.video else ""
    shown = svg.beside(passage.picture or passage.npz)
    return (
        f'<figure class="passage"><a href="{shown}" aria-label="{label}">{drawn}</a>'
        f"<figcaption>{svg.shape(passage.outcome)} seed {seed}{video}<span>{esc(words)}</span></figcaption></figure>"
    )


def facts(passage: Passage) -> list[str]:
    """How a passage ended, after how long, and its largest force."""
    end = ENDS.get(passage.outcome, passage.outcome.replace("_", " "))
    found = [f"{end} after {_quantity(passage.duration, passage.time_unit)}"]
    if passage.peak is not None:
        found.append(f"peak {_quantity(passage.peak.force, passage.force_unit)}")
    return found


def _quantity(value: float, unit: str) -> str:
    """A number that is not torn from its unit at the end of a line."""
    return f"{text.number(value)}\N{NO-BREAK SPACE}{unit}"


def _force_map(agent: str, passages: Sequence[Passage], view: Scales) -> str:
    if not passages:
        return ""
    words = text.count(len(passages), "trial")
    peaks = [(p.peak, p) for p in passages if p.peak is not None]
    if peaks:
        peak, worst = max(peaks, key=lambda pair: pair[0].force)
        force, time = _quantity(peak.force, worst.force_unit), _quantity(peak.time, worst.time_unit)
        words += f", peak {force} after {time} of seed {worst.seed}"
    drawn = drawing.force_picture(passages, view.frame, view.hardest)
    label = esc(f"{agent}, wall force along the path: {words}")
    return (
        f'<figure class="passage force"><div role="img" aria-label="{label}">{drawn}</div>'
        f"<figcaption>wall force<span>{esc(words)}</span></figcaption></figure>"
    )
