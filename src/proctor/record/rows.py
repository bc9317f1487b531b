"""Whether the rows of a ledger are of the kinds that were written into it: it may come from somebody else, or from a
disk that failed."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from proctor_host.episode import Outcome
from proctor_host.trials import Trial

_TEXT = "typeof({0}) = 'text'"
_COUNT = "typeof({0}) = 'integer' AND {0} >= 0"
_FROM_ONE = "typeof({0}) = 'integer' AND {0} >= 1"
_NUMBER = "typeof({0}) IN ('real', 'integer')"
_FLAG = "typeof({0}) = 'integer' AND {0} IN (0, 1)"
_OUTCOMES = ", ".join(f"'{outcome.value}'" for outcome in Outcome)
_MAPPING = "typeof({0}) = 'text' AND json_valid({0}) AND substr({0}, 1, 1) = '{{'"

_PLANNED = {
    **dict.fromkeys(("agent", "task"), _TEXT),
    **dict.fromkeys(("idx", "seed", "agent_position", "task_position", "attempts"), _COUNT),
    "state": "{0} IN ('pending', 'done')",
    "faults": "typeof({0}) = 'text' AND json_valid({0}) AND substr({0}, 1, 1) = '['",
}
_DONE = {"outcome": f"{{0}} IN ({_OUTCOMES})", "metrics": _MAPPING, "clipped_steps": _COUNT, "after_stop": _FLAG}
_IF_KNOWN = {
    "success": _FLAG,
    **dict.fromkeys(("steps_total", "npz_size", "npz_crc"), _COUNT),
    **dict.fromkeys(("steps_to_success", "first_success", "max_steps"), _FROM_ONE),
    **dict.fromkeys(("episode_reward", "wall_time_s", "sim_time_s"), _NUMBER),
    **dict.fromkeys(("error", "npz", "digest", "video", "case"), _TEXT),
    "trace": "typeof({0}) = 'text' AND length({0}) >= 16 AND substr({0}, 1, 16) NOT GLOB '*[^0-9a-f]*'",
}
"""Column -> what holds of its values: of every trial, of finished ones, and of finished ones that have a value."""


_LARGE = {"seed": "typeof({0}) = 'integer'"}
"""Where seeds may be 2**63 and larger: these are kept as the negative number of the same bits."""


def _query(rules: Mapping[str, str]) -> str:
    """The first odd row, and its first odd column. All rows are looked at by one condition, which is quicker than to
    ask of every row which column it is: some microseconds a row."""
    planned = {name: holds.format(f'"{name}"') for name, holds in rules.items()}
    done = {name: holds.format(f'"{name}"') for name, holds in _DONE.items()}
    done |= {name: f'"{name}" IS NULL OR ({holds})'.format(f'"{name}"') for name, holds in _IF_KNOWN.items()}
    whole = f"{_all(planned)} AND (state = 'pending' OR ({_all(done)}))"
    cases = " ".join(f"WHEN ({holds}) IS NOT 1 THEN '{name}'" for name, holds in {**planned, **done}.items())
    return f"SELECT agent, task, idx, CASE {cases} END FROM trials WHERE ({whole}) IS NOT 1 LIMIT 1"


def _all(conditions: Mapping[str, str]) -> str:
    return " AND ".join(f"({holds})" for holds in conditions.values())


_ODD, _ODD_LARGE = _query(_PLANNED), _query(_PLANNED | _LARGE)


def odd_row(connection: sqlite3.Connection, *, large_seeds: bool = False) -> str | None:
    """What is wrong with the first row that is not of the right kinds, in words; None where all are. `large_seeds`: the
    run has seeds of 2**63 or more."""
    found = connection.execute(_ODD_LARGE if large_seeds else _ODD).fetchone()
    if found is None:
        return None
    agent, task, index, column = found
    row = connection.execute(
        f'SELECT "{column}" FROM trials WHERE agent IS ? AND task IS ? AND idx IS ?', (agent, task, index)
    ).fetchone()
    if row is None:
        return f"a row of agent {agent!a} on task {task!a} cannot be found by its key"
    value = row[0]
    key = Trial(agent, task, index, 0).key if isinstance(index, int) else f"{agent}/{task}/{index}"
    return f"{'index' if column == 'idx' else column} of trial {key} is {str(value)[:60]!a}"
