"""The parts of the endovascular room."""

from __future__ import annotations

LAST = ("path_ratio_last", "trajectory_length_last", "avg_translation_speed_last")
FORCES = (
    "wall_lcp_max_abs_max", "wall_lcp_sum_abs_mean", "wall_wire_force_norm_max", "wall_wire_force_norm_mean",
    "wall_collision_force_norm_max", "wall_collision_force_norm_mean",
)  # fmt: skip

PARTS = {
    "proctor.suites": {
        "endovascular": "proctor.suites.endovascular.suite:EndovascularSuite",
    },
    "proctor.loaders": {
        "endovascular/push_only": "proctor.suites.endovascular.loaders:PushOnlyLoader",
        "endovascular/navigator": "proctor.suites.endovascular.loaders:NavigatorLoader",
    },
    "proctor.metrics": {
        **{name: f"proctor.suites.endovascular.metrics:LAST.{name}" for name in LAST},
        "tip_speed_max_mm_s": "proctor.suites.endovascular.metrics:TipSpeedMax",
        "tip_speed_mean_mm_s": "proctor.suites.endovascular.metrics:TipSpeedMean",
        "tip_jerk_p95_mm_s3": "proctor.suites.endovascular.metrics:TipJerkP95",
        **{name: f"proctor.suites.endovascular.metrics:SIGNALS.{name}" for name in FORCES},
        "wall_force_max": "proctor.suites.endovascular.metrics:WallForceMax",
    },
    "proctor.scorings": {
        "default_v1": "proctor.suites.endovascular.scoring:DefaultV1",
        "default_v2": "proctor.suites.endovascular.scoring:DefaultV2",
        "ranking_v1": "proctor.suites.endovascular.scoring:RankingV1",
    },
    "proctor.forms": {
        "endovascular": "proctor.suites.endovascular.forms:BenchmarkForm",
    },
    "proctor.sections": {
        "vessels": "proctor.suites.endovascular.report.section:Vessels",
        "tools": "proctor.suites.endovascular.report.by_tool:ToolTables",
    },
}
