"""Which agent is better, how sure, and how many more trials would settle it, in sentences."""

from __future__ import annotations

from proctor.report import text
from proctor.stats import Interval
from proctor.verdict.comparison import Comparison, Difference, Measure, Pair, needed_trials
from proctor.verdict.gate import Alike, Gate, Likeness, Ruling

POWER = 0.8


def verdict(found: Comparison) -> str:
    """Two or three sentences about the first-ranked agent and those that come near it. Whoever is said to be better has
    the better estimate on the trials that were tested."""
    if not found.pairs:
        return "No comparison: fewer than two agents have scored trials."
    if all(pair.of(found.by).value is None for pair in found.pairs):
        return "No comparison: nothing says what success is, and there are no scores."
    first = found.agents[0].agent
    own = [pair for pair in found.pairs if pair.a == first]
    against = [pair for pair in own if found.better(pair) == pair.b]
    if against:
        return _disagreeing(found, against[0])
    if found.winner is not None:
        return _settled(found, own)
    rivals = [pair for pair in own if found.better(pair) is None]
    hidden = [pair for pair in rivals if found.hidden(pair)]
    if len(hidden) == len(rivals):
        return _hidden(found, hidden)
    return _open(found, [pair for pair in rivals if pair not in hidden])


def _settled(found: Comparison, own: list[Pair]) -> str:
    pair = own[0]
    others = [one.b for one in own]
    beaten = text.listed(others, most=3) if len(others) <= 3 else f"all {len(others)} others"
    against = "" if len(others) == 1 else f" for {pair.b}, the next"
    words = f"{pair.a} is better than {beaten}: {_values(found, pair)}{against}, {_difference(found, pair)}."
    if found.by == "success" or pair.success.value_a is None or pair.success.value == pair.score.value:
        return words
    rates = f"{text.percent(pair.success.value_a)} against {text.percent(pair.success.value_b)}"
    return f"{words} It succeeded in {rates} of trials."


def _values(found: Comparison, pair: Pair) -> str:
    own = pair.of(found.by)
    both = [own.value_a, own.value_b]
    words = text.ranked_means(both, [own.interval] * 2) if found.by == "score" else text.ranked_rates(both)
    return f"{_name(found.by)} {' against '.join(words)}"


def _disagreeing(found: Comparison, pair: Pair) -> str:
    """Ranked by trials that were not all tested, the order is another one."""
    value = _first_value(found)
    return (
        f"No winner: ranking and test disagree. {pair.a} ranks first by all of its own trials ({_name(found.by)} "
        f"{value}), but {pair.b} is better on those that both ran: {_values(found, pair)}, {_difference(found, pair)}. "
        "The two were not tried alike; run what is missing, then compare again."
    )


def _hidden(found: Comparison, hidden: list[Pair]) -> str:
    first = hidden[0]
    bounds = first.of(found.by).bounds
    span = "" if bounds is None else f" (between {_range(found.by, bounds)}, whatever they would have been)"
    names = text.listed([pair.b for pair in hidden], most=3)
    return (
        f"No winner: {first.a} is ahead of {names} in the trials that were scored ({_difference(found, first)}), but "
        f"{text.count(first.n_unscored, 'unscored trial')} could turn that round{span}. Run them again: "
        "proctor resume RUN --retry-unscored."
    )


def _open(found: Comparison, rivals: list[Pair]) -> str:
    first = rivals[0]
    names = text.listed([pair.b for pair in rivals], most=3)
    equal = [pair for pair in rivals if pair.of(found.by).value == 0]
    if equal:
        same = text.listed([pair.b for pair in equal], most=3)
        return f"{first.a} and {same} have exactly the same {_name(found.by)} on {_trials(equal[0])}: no winner."
    value = _first_value(found)
    nearest = "" if len(rivals) == 1 else f"to {first.b}, "
    others = [pair.b for pair in found.pairs if pair.a == first.a and found.better(pair) == pair.a]
    beaten = f" It is better than {text.listed(others, most=3)}." if others else ""
    return (
        f"No winner yet. {first.a} ranks first ({_name(found.by)} {value}), but is not significantly better than "
        f"{names} in {_trials(first)}: {nearest}{_difference(found, first, counted=False)}.{beaten} "
        f"{more_trials(found, first)}"
    ).rstrip()


def more_trials(found: Comparison, pair: Pair) -> str:
    """How many trials would settle a pair that is open."""
    needed = needed_trials(found, pair, power=POWER)
    n = min(pair.n_a, pair.n_b)
    if needed is None:
        return "proctor power says how many trials show a difference that matters."
    if needed.n is None:
        return "A million trials would not settle a difference as small as this."
    total = _rounded(max(needed.n, n + 1), n)
    return (
        f"If that is the true difference, about {total:,} trials each{_by_seed(pair, found, total)} would settle it "
        f"with {text.percent(POWER)} probability: {total - n:,} more, tested as trials that are added after a look."
    )


def _by_seed(pair: Pair, found: Comparison, total: int) -> str:
    """How many seeds that is, where every task has the same ones."""
    units, tasks = pair.of(found.by).units, len(pair.tasks)
    return f" ({-(-total // tasks):,} seeds on each of {tasks} tasks)" if 1 < tasks == pair.n_a / units else ""


def _rounded(total: int, n: int) -> int:
    """Two digits are all that such a number is worth; never as few as there are already."""
    unit = 10 ** max(0, len(str(total)) - 2)
    return max(-(-total // unit) * unit, n + 1)


def gate_sentence(gate: Gate) -> str:
    """What a gate decided, and by what."""
    who = f"{gate.new} against {gate.base}"
    if gate.interval is None:
        return f"{who}: not settled, there is no interval ({gate.reason})."
    limit = _signed(gate.measure, -gate.margin, gate.interval)
    words = {
        Ruling.WORSE: f"worse: the whole interval lies below {limit}",
        Ruling.NOT_WORSE: f"shown to be no worse: the whole interval lies above {limit}",
        Ruling.OPEN: f"not settled: the interval does not lie on one side of {limit}",
    }[gate.ruling]
    if gate.ruling is Ruling.OPEN and gate.lacking and gate.interval.low >= -gate.margin:
        tasks = text.listed(list(gate.lacking))
        words = f"not settled: trials that did not run or are unscored could hide a loss on {tasks}"
    return f"{who}: {_differs(gate, gate.interval)}: {words}."


def likeness_sentence(found: Likeness) -> str:
    """What was decided of agents that may be alike up to a margin, and by what."""
    who = f"{found.a} and {found.b}"
    if found.interval is None:
        return f"{who}: not settled, there is no interval ({found.reason})."
    within = " to ".join(_signed(found.measure, end, found.interval) for end in (-found.margin, found.margin))
    words = {
        Alike.SHOWN: f"equivalent: the whole interval lies within {within}",
        Alike.DIFFERENT: f"different: the whole interval lies outside of {within}",
        Alike.OPEN: f"not shown to be equivalent: the interval does not lie within {within}",
    }[found.ruling]
    inside = -found.margin < found.interval.low and found.interval.high < found.margin
    if found.ruling is Alike.OPEN and inside:
        words = "not shown to be equivalent: unscored trials could hide a difference"
    return f"{who}: {_differs(found, found.interval)}: {words}."


def _differs(found: Gate | Likeness, interval: Interval) -> str:
    """`score differs by 0.3 (95 % interval 0.1 to 0.5, n 20)`."""
    difference, span = _signed(found.measure, found.difference, interval), _range(found.measure, interval)
    name, level = _name(found.measure), text.percent(found.level)
    return f"{name} differs by {difference} ({level} interval {span}, n {found.n:,})"


def p_value(p: float | None) -> str:
    if p is None:
        return text.NONE
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.0995 else f"{p:.2f}"


def p_equals(p: float) -> str:
    """`= 0.03` or `< 0.001`."""
    return p_value(p) if p < 0.001 else f"= {p_value(p)}"


def difference_words(found: Difference) -> tuple[str, str]:
    """A difference and its interval; percent points for success."""
    if found.value is None:
        return text.NONE, text.NONE
    interval = text.NONE if found.interval is None else _range(found.measure, found.interval)
    return _signed(found.measure, found.value, found.interval), interval


def _name(measure: Measure) -> str:
    return "score" if measure == "score" else "success rate"


def _first_value(found: Comparison) -> str:
    """What the first agent is ranked by, with the digits that the ranking shows."""
    if found.by == "success":
        return text.ranked_rates([agent.rate for agent in found.agents])[0]
    return text.ranked_means([a.score for a in found.agents], [a.score_interval for a in found.agents])[0]


def _difference(found: Comparison, pair: Pair, counted: bool = True) -> str:
    own = pair.of(found.by)
    level = text.percent(found.level)
    signed = _signed(found.by, own.value, own.interval)
    span = f"{level} interval {_range(found.by, own.interval)}" if own.interval else "no interval"
    p = "" if own.p_adjusted is None else f", p {p_equals(own.p_adjusted)}"
    trials = f", {_trials(pair)}" if counted else ""
    return f"difference {signed} ({span}{trials}{p})"


def _trials(pair: Pair) -> str:
    if pair.paired:
        return text.count(pair.n_a, "pair") + " of trials"
    return f"{pair.n_a:,} and {text.count(pair.n_b, 'trial')}"


def _signed(measure: Measure, value: float | None, interval: Interval | None) -> str:
    if value is None:
        return text.NONE
    if measure == "success":
        return _points(value)
    return text.fixed(value, interval)


def _points(value: float) -> str:
    digits = 0 if round(1000 * value) % 10 == 0 or abs(value) >= 0.095 else 1
    rounded = f"{100 * value:.{digits}f}".replace("-", "−")
    return ("0" if float(rounded.replace("−", "-")) == 0 else rounded) + " points"


def _range(measure: Measure, interval: Interval) -> str:
    if measure == "success":
        low, high = (_points(end).removesuffix(" points") for end in interval)
        return f"{low} to {high}"
    return " to ".join(text.fixed(end, interval) for end in interval)
