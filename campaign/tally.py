"""What was tried and what came of it, by kind of fault."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

TROUBLES = ("lost", "changed", "hung", "traceback", "left behind", "unexplained")
"""lost: a finished trial is finished no more. changed: after the last `resume` something is not as in the undisturbed
run. hung: a command took longer than its limits allow. traceback: a user saw one. left behind: a process outlived the
command. unexplained: an exit code that no fault and no message accounts for, or a file written elsewhere."""


@dataclass
class Trouble:
    """One thing that must not be: what, where, and how to see it again."""

    what: str
    kinds: tuple[str, ...]
    """The faults that may be behind it."""
    detail: str
    again: str
    """The command that tries the same again."""


@dataclass
class Tally:
    tried: Counter[str] = field(default_factory=Counter)
    troubles: list[Trouble] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.tried.update(other.tried)
        self.troubles += other.troubles

    def table(self) -> str:
        """As Markdown, a row for each kind. Trouble that several faults may be behind is counted for each of them."""
        counts = {kind: Counter(t.what for t in self.troubles if kind in t.kinds) for kind in self.tried}
        head = ["fault", "tried", *TROUBLES]
        rows = [
            [kind, f"{n:,}", *(str(counts[kind][what]) for what in TROUBLES)] for kind, n in sorted(self.tried.items())
        ]
        everything = Counter(trouble.what for trouble in self.troubles)
        total = ["**all**", f"{self.tried.total():,}", *(str(everything[what]) for what in TROUBLES)]
        return "\n".join(
            ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
            + ["| " + " | ".join(row) + " |" for row in [*rows, total]]
        )
