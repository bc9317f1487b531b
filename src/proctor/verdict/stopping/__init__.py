"""Sequential stopping: `stop_when` of a config, followed while results come in or worked out from a ledger."""

from proctor.verdict.stopping.follow import Reader, ReadingOrder, Stopping
from proctor.verdict.stopping.watch import Seen, Stop

__all__ = ["Reader", "ReadingOrder", "Seen", "Stop", "Stopping"]
