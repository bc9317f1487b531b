"""Which simulator ran, with which tool, and what it did not measure: for tasks that two simulators examine alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proctor.config.models import AgentCfg, EvalConfig
from proctor.report import text
from proctor.report.model import Finding, Report, TaskReport

SIMULATORS = {"endovascular": "the embedded simulator", "steve": "SOFA through stEVE"}
"""By suite."""
FORCES_NEED = {"steve": "it needs use_non_mp_sim: true, and a scene with SOFA's LCP solver and contact plugins"}


def simulated_by(tasks: Sequence[TaskReport]) -> str:
    """The sentence that opens a verdict; "" where no task has simulators to choose from."""
    names = list(dict.fromkeys(SIMULATORS[task.suite] for task in tasks if task.suite in SIMULATORS))
    return f"Simulated by {text.listed(names)}." if names else ""


def force_findings(report: Report) -> Iterator[Finding]:
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


def tool_name(cfg: EvalConfig, agent: AgentCfg) -> str | None:
    """What the agent works with: its own tool, else the one that all tasks have; "custom" where it has no name."""
    tools = [task.for_agent(agent).options.get("tool") for task in cfg.tasks]
    if any(tool is None or tool != tools[0] for tool in tools):
        return None
    return tools[0] if isinstance(tools[0], str) else "custom"
