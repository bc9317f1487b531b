"""Motion tracking in a report: how errors are spread over motions, and where in a motion which joint is off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from proctor.report import text
from proctor.report.draw import svg
from proctor.report.draw.markup import figure_row, lead, rows_figure, scale_key
from proctor.report.draw.palette import BAD, heat_step, top_of
from proctor.report.draw.svg import esc, runs
from proctor.report.model import CaseTable, Finding, Report
from proctor.report.section import CaseLayout, Section

if TYPE_CHECKING:
    from proctor.suites.tracking.report.joint_errors import JointErrors

TICKS = 300
SHOWN = ("emd", "mpjpe_xpos", "root_pos_error_m", "torso_rot_error_rad", "upright_share", "first_fall_s", "frames_cut")
JOINT_PX = 11
DECENT_EMD_RAD, UPRIGHT_SHARE = 0.75, 0.9


class Tracking(Section):
    """Strips of the transport distance of every motion, then joint errors over time of the worst ones."""

    key, title, place, suites = "tracking", "Motion tracking", 90, ("tracking",)
    signs = ("emd",)
    stylesheets = ("proctor.suites.tracking.report/tracking.css",)
    signal_units: ClassVar[Mapping[str, str]] = {
        "joint_pos": "rad", "observed_joint_pos": "rad", "root_pos": "m", "root_quat": "quaternion, wxyz",
        "anchor_quat": "quaternion, wxyz",
    }  # fmt: skip
    case_layout = CaseLayout(order="emd", shown=SHOWN, shares=("upright_share",))

    def read(self, folder: Path, report: Report) -> tuple[JointErrors, ...]:
        from proctor.suites.tracking.report.joint_errors import read_joint_errors

        return read_joint_errors(folder, report.cases)

    def html(self, report: Report, data: Sequence[JointErrors] | None) -> str:
        tables = [table for table in report.cases if table.order == "emd"]
        if not tables:
            return ""
        words = (
            "EMD compares poses whatever their order and does not see where the robot is or whether it lies on the "
            "floor: read it beside the share of frames upright and the body errors below."
        )
        strips = [_strips(report, task.task, [t for t in tables if t.task == task.task]) for task in report.tasks]
        return lead(words) + "".join(strips) + _maps(data or ())

    def keys(self, report: Report, data: Sequence[JointErrors] | None) -> dict[str, Any]:
        return {"joint_errors": [errors.keys() for errors in data]} if data else {}

    def findings(self, report: Report) -> Iterator[Finding]:
        """Agents whose joint-space error looks better than they stood."""
        for agent in report.agents:
            emd, upright = (agent.overall.metric(name).value for name in ("emd", "upright_share"))
            if emd is not None and upright is not None and emd <= DECENT_EMD_RAD and upright < UPRIGHT_SHARE:
                yield Finding(
                    "caution",
                    f"{agent.agent}: EMD is {text.number(emd)} rad, but it was upright in only {text.percent(upright)} "
                    "of the frames: joint-space errors do not see a fall.",
                )


def _strips(report: Report, task: str, tables: Sequence[CaseTable]) -> str:
    columns = [(t.agent, [v for c in t.cases if (v := c.metrics["emd"].value) is not None]) for t in tables]
    if not any(values for _, values in columns):
        return ""
    target = next((result.target for result in report.targets if result.metric == "emd"), None)
    places = [value for _, values in columns for value in values] + ([] if target is None else [target])
    axis = svg.axis_for([0.0, *places])
    means = {agent: sum(values) / len(values) for agent, values in columns if values}
    tracks = [strip_row(axis, thinned(values, TICKS), means.get(agent), target) for agent, values in columns]
    rows = [figure_row(esc(a), track, text.number(means.get(a))) for (a, _), track in zip(columns, tracks, strict=True)]
    summary = "; ".join(f"{agent} {text.number(means.get(agent))} over {len(values)}" for agent, values in columns)
    dashed = "" if target is None else f" Dashed: the target, {target:g} rad."
    caption = f"EMD of every motion of {task} (rad). A line per motion, a dot at the mean.{dashed}"
    return rows_figure(caption, rows, svg.axis_row(axis, "EMD (rad)"), f"Mean EMD in rad: {summary}")


def thinned(values: Sequence[float], most: int) -> list[float]:
    """At most `most` of the values, evenly by rank, with the smallest and the largest."""
    ordered = sorted(values)
    if len(ordered) <= most:
        return ordered
    return [ordered[i] for i in np.linspace(0, len(ordered) - 1, most).round().astype(int)]


def strip_row(axis: svg.Axis, values: Sequence[float], mean: float | None, target: float | None) -> str:
    """One agent: a line per value, a dot at the mean, a dashed line at the target."""
    marks = "".join(svg.upright("case", axis.x(value), "22%", "78%") for value in values)
    aim = "" if target is None else svg.upright("target", axis.x(target))
    dot = "" if mean is None else f'<circle class="dot" cx="{axis.x(mean)}" cy="50%" r="4.5"/>'
    return svg.track(axis, marks + aim + dot)


def _maps(maps: Sequence[JointErrors]) -> str:
    if not maps:
        return ""
    top = top_of(m.errors for m in maps)
    words = (
        "Absolute error of every joint over time, in the worst recorded motions of each agent. The line marks the "
        "first fall. Without colour: the agent's numbers are not finite."
    )
    return (
        f"<h3>Joint error over time</h3>\n{lead(words)}"
        f"{scale_key(BAD, '0', f'{text.number(top)} rad or more')}"
        f'<div class="pair">{"".join(_map(m, top) for m in maps)}</div>'
    )


def _map(m: JointErrors, top: float) -> str:
    means = m.errors.mean(axis=1)
    worst = np.argsort(np.where(np.isnan(means), np.inf, means))[::-1][:3]
    listed = text.listed([f"{m.joints[i]} {text.number(float(means[i]))} rad" for i in worst])
    fall = "" if m.first_fall is None else f", first fall at {text.number(m.first_fall)} {m.unit}"
    title = f"{m.agent} on {m.case}"
    label = esc(f"{title}: joint error over {text.number(m.duration)} {m.unit}{fall}; largest mean: {listed}")
    names = "".join(f"<span>{esc(joint)}</span>" for joint in m.joints)
    return (
        f'<figure class="joint-map"><figcaption><a href="{svg.beside(m.npz)}">{esc(title)}</a>'
        f" <span>{esc(f'largest mean error: {listed}{fall}')}</span></figcaption>"
        f'<div role="img" aria-label="{label}"><div class="joint-names">{names}</div>'
        f"<div>{heat_map(m, top)}{_time_axis(m)}</div></div></figure>\n"
    )


def heat_map(m: JointErrors, top: float) -> str:
    """Joints as rows, time to the right; one path per colour."""
    joints, bins = m.errors.shape
    paths = "".join(f'<path class="f{BAD}{step}" d="{d}"/>' for step, d in sorted(_paths(m.errors, top).items()))
    cells = f'<svg viewBox="0 0 {bins} {joints}" preserveAspectRatio="none" width="100%" height="100%">{paths}</svg>'
    fall = "" if m.first_fall is None else svg.upright("fall", f"{100 * m.first_fall / m.duration:.2f}%")
    return f'<svg class="cells" width="100%" height="{JOINT_PX * joints}">{cells}{fall}</svg>'


def _paths(errors: np.ndarray, top: float) -> dict[int, str]:
    """Outlines of equal steps by step; neighbours in a row are one rectangle."""
    pieces: dict[int, list[str]] = {}
    for row, values in enumerate(errors):
        for step, start, stop in runs([-1 if np.isnan(v) else heat_step(float(v) / top) for v in values]):
            if step >= 0:
                pieces.setdefault(step, []).append(f"M{start} {row}h{stop - start}v1h-{stop - start}z")
    return {step: "".join(parts) for step, parts in pieces.items()}


def _time_axis(m: JointErrors) -> str:
    ticks = [tick for tick in svg.axis_for([0.0, m.duration]).ticks if 0 <= tick <= m.duration]
    words = ""
    for tick in ticks:
        anchor = "start" if tick == 0 else "end" if tick > 0.93 * m.duration else "middle"
        place = f'x="{100 * tick / m.duration:.2f}%" y="12" text-anchor="{anchor}"'
        words += f'<text class="tick" {place}>{tick:g}</text>'
    name = f"time ({m.unit})" if m.unit == "s" else "frame"
    words += f'<text class="tick axis-name" x="50%" y="26" text-anchor="middle">{name}</text>'
    return f'<svg class="track" width="100%" height="32">{words}</svg>'
