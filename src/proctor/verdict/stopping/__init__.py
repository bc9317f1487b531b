"""Sequential stopping: `stop_when` of a config, followed while results come in or worked out from a ledger."""

from proctor.verdict.stopping.follow import Stopping
from proctor.verdict.stopping.order import ReadingOrder
from proctor.verdict.stopping.outcome import Stop
from proctor.verdict.stopping.reading import Reader
from proctor.verdict.stopping.watch import Seen

__all__ = ["Reader", "ReadingOrder", "Seen", "Stop", "Stopping"]
