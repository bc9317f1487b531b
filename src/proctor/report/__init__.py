"""Reports: from finished trials to files that people and programs read."""

from proctor.report.build.aggregate import build_report
from proctor.report.model import Report, ReportContext
from proctor.report.write import drawn_up, write_reports

__all__ = ["Report", "ReportContext", "build_report", "drawn_up", "write_reports"]
