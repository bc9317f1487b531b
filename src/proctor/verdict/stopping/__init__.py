"""Sequential stopping: `stop_when` of a config, followed while results come in or worked out from a ledger."""

from proctor.verdict.stopping.order import ReadingOrder
from proctor.verdict.stopping.outcome import Stop
from proctor.verdict.stopping.watch import Seen, Stopping

__all__ = ["ReadingOrder", "Seen", "Stop", "Stopping"]
