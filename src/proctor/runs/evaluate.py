"""`proctor.evaluate`: an examination in one call, of whatever the caller has in hand, with a line of progress that is
drawn anew in a notebook and in a terminal."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from proctor.config import config_from_dict
from proctor.config.models import EvalConfig
from proctor.config.problems import ConfigError, did_you_mean
from proctor.errors import InputError
from proctor.memory import lent
from proctor.report.draw.svg import esc
from proctor.rollout.progress import CancelToken, Observer, Progress
from proctor.runs.given import Given, importable
from proctor.runs.resume import resume as go_on
from proctor.runs.run import Run
from proctor.runs.session import Hooks
from proctor.runs.start import start

TRIALS = 100
"""Of each agent on each task, where nothing says how many."""
SUCCESS = (
    'a return to reach (success=475), the name of an entry of info (success="is_success"), a function or its import '
    'string (success="file.py:function"), or what a task\'s option takes (success={"terminated": True})'
)


def evaluate(
    policy: Any,
    env: Any,
    n: int | None = None,
    *,
    name: str | None = None,
    seeds: int | Sequence[int] | str | None = None,
    success: Mapping[str, Any] | float | str | None = None,
    batched: bool | None = None,
    method: str | None = None,
    video: bool | int = False,
    out: str | Path | None = None,
    progress: bool | Observer | None = None,
    cancel: CancelToken | None = None,
    resume: str | Path | None = None,
    **config: Any,
) -> Run:
    """Examine `policy` on `env`, `n` trials each (100 where nothing says how many), in a new run folder, and return the
    run.

    `policy`: a function of one observation or of a batch, a torch module, a Stable-Baselines3 model, an object with
    `select_action`, `predict` or `act`, a class of such objects or a maker of them (one for every trial), a `Policy`, a
    checkpoint's path, or an agent as in a config; or a dict of them by name, or a list. `env`: an id of Gymnasium, a
    function that makes an environment, or a task as in a config; or a dict or list. Objects are asked and made in this
    process. `batched` and `method` say how objects are asked (`proctor.policies.plain`).

    `seeds`: the first seed, or all of them, which then say how many trials there are. `success`: a return to reach, the
    name of an entry of `info`, a function or its import string, or what a task's option `success` takes. `out`: the
    folder for run folders. `video`: of the first trial of each agent and task, or of so many. `progress`: False for
    none, or a function; None: in notebooks and terminals. `resume`: go on with this run, which these objects began; `n`
    may have grown. Every other key is one of a config: `num_parallel`, `workers`, `scoring`, `record`,
    `max_episode_steps`, `limits`, `stop_when`, ... Raises InputError for what the caller can mend.
    """
    _refuse_elsewhere(config)
    given = Given()
    asked = {"batched": batched, "method": method}
    given.add_policies(policy, {key: value for key, value in asked.items() if value is not None})
    given.add_environments(env, _success(success))
    raw = {**config, "agents": given.agents, "tasks": given.tasks, **_seeds(seeds, n)}
    raw |= {} if name is None else {"name": name}
    raw |= {} if out is None else {"output_root": str(out)}
    raw |= {} if video is False else {"record": {"level": "video", "video": {"trials": "first", "first": int(video)}}}
    raw["workers"] = _workers(config.get("workers"), given)
    with lent(given.objects), shown(progress) as observer:
        hooks, cfg = Hooks(observer, cancel), _checked(_resolved(raw), n, seeds)
        return Run.of(start(cfg, hooks).run) if resume is None else _resumed(Path(resume), cfg, hooks)


OWN = {"agents": "policy", "tasks": "env", "n_trials": "n", "base_seed": "seeds", "output_root": "out"}
"""Keys of a config that have another name here."""


def _refuse_elsewhere(config: Mapping[str, Any]) -> None:
    """Raise InputError for a key of a config that an argument would silently take the place of."""
    for key in ("agents", "tasks", "n_trials"):
        if key in config:
            raise InputError(f"{key} is called {OWN[key]} here: evaluate(policy, env, n=100, ...)")


def _resolved(raw: dict[str, Any]) -> EvalConfig:
    """The config. Raises ConfigError; of a key that is unknown, it says which ones `evaluate` takes."""
    try:
        return config_from_dict(raw)
    except ConfigError as error:
        taken = [key for key in inspect.signature(evaluate).parameters if key not in ("policy", "env", "config")]
        known = sorted({*taken, *EvalConfig.model_fields} - OWN.keys())
        said = f"unknown key; evaluate takes {', '.join(known)}"
        told = [
            replace(found, message=said, hint=did_you_mean(found.key, known))
            if found.key in raw and found.message.startswith("unknown key")
            else found
            for found in error.problems
        ]
        raise ConfigError("evaluate", told) from None


def _resumed(path: Path, cfg: EvalConfig, hooks: Hooks) -> Run:
    """Go on with a run of the same agents and tasks."""
    run = Run.open(path, trust=True)
    old = run.plain_config()
    for kind, now, then in (("policy", cfg.agents, old.agents), ("environment", cfg.tasks, old.tasks)):
        mine, theirs = ({one.name: one for one in found} for found in (now, then))
        if mine != theirs:
            changed = sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))
            raise InputError(
                f'{path} began with another {kind} "{changed[0]}": its code, its weights or its options have changed, '
                "and its finished trials belong to the old one. Start a new run without resume"
            )
    more = [f"n_trials={cfg.n_trials}"] if cfg.seeds is None else []
    return Run.of(go_on(run.path, more, hooks, trust=True).run)


def _success(given: Any) -> Mapping[str, Any] | None:
    if given is None or isinstance(given, Mapping):
        return given
    if isinstance(given, int | float) and not isinstance(given, bool):
        return {"return_at_least": float(given)}
    if isinstance(given, str) and ":" not in given and not given.endswith(".py"):
        return {"info": given}
    if not ((isinstance(given, str) and ":" in given) or callable(given)):
        raise InputError(f"success: found {given!r}; expected {SUCCESS}")
    target = given if isinstance(given, str) else importable(given)
    if target is None:
        raise InputError(
            "success is a function that no other process can import; put it into a file and name it: "
            'success="file.py:function"'
        )
    return {"function": target}


def _seeds(seeds: Any, n: int | None) -> dict[str, Any]:
    """The keys of a config that say how many trials there are, and from which seeds: a list says both."""
    if seeds is None or isinstance(seeds, int):
        return {"n_trials": TRIALS if n is None else n, **({} if seeds is None else {"base_seed": seeds})}
    if isinstance(seeds, str):
        return {"seeds": seeds}
    listed = [int(seed) for seed in seeds]
    if not listed:
        raise InputError("found no seeds; expected the first one, or a list of them")
    return {"seeds": listed}


def _checked(cfg: EvalConfig, n: int | None, seeds: Any) -> EvalConfig:
    """Seeds say how many trials there are: `n` may say it again, but nothing else."""
    if n is not None and seeds is not None and not isinstance(seeds, int) and n != cfg.n_trials:
        raise InputError(
            f"found n={n} and {cfg.n_trials} seeds; every seed is one trial, so leave out n, or give the first seed "
            "alone (seeds=0)"
        )
    return cfg


def _workers(asked: Any, given: Given) -> Any:
    """Where environments run: in this process where no other can make them."""
    if not given.local:
        return {} if asked is None else asked
    if asked in (None, "inline", "auto", {"kind": "inline"}):
        return "inline"
    raise InputError(
        f"{given.local[0]} is in the memory of this process, and workers={asked!r} are others, which cannot make it. "
        'Leave workers out, or put it into a file and name it: env="file.py:make_env"'
    )


@contextmanager
def shown(wanted: bool | Observer | None) -> Iterator[Observer | None]:
    """An observer while the block lasts: the caller's own; None where progress is not wanted, or nobody is there to see
    it; else one that draws it in the notebook or the terminal, and takes it away at the end."""
    if callable(wanted):
        yield wanted
    elif wanted is not False and in_notebook():
        notebook = NotebookLine()
        yield notebook
        notebook.clear()
    elif wanted or (wanted is None and sys.stderr.isatty()):
        terminal = TerminalLine(sys.stderr)
        try:
            yield terminal
        finally:
            terminal.clear()
    else:
        yield None


def in_notebook() -> bool:
    """Whether this is a kernel of Jupyter, which displays what it is given."""
    shell: Any = sys.modules.get("IPython")
    found = None if shell is None else shell.get_ipython()
    return found is not None and type(found).__name__ == "ZMQInteractiveShell"


def line(p: Progress) -> str:
    """How far a run is, in words."""
    parts = [f"{p.done:,} of {p.planned:,} trials", f"{p.steps / max(p.seconds, 1e-9):,.0f} steps/s"]
    if p.seconds_left is not None and p.done < p.planned:
        parts.append(f"about {p.seconds_left:.0f} s left")
    return f"{p.phase}: " + ", ".join(parts)


class TerminalLine:
    """Overwrites one line."""

    def __init__(self, stream: Any):
        self._stream = stream

    def __call__(self, progress: Progress) -> None:
        self.show(line(progress))

    def show(self, text: str) -> None:
        self._stream.write(f"\r\x1b[2K{text[:100]}")
        self._stream.flush()

    def clear(self) -> None:
        self._stream.write("\r\x1b[2K")
        self._stream.flush()


class NotebookLine:
    """A bar in a notebook's cell, by what IPython itself has."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, progress: Progress) -> None:
        from IPython.display import HTML, display

        drawn = HTML(bar(progress))
        if self._handle is None:
            self._handle = display(drawn, display_id=True)
        else:
            self._handle.update(drawn)

    def clear(self) -> None:
        from IPython.display import HTML

        if self._handle is not None:
            self._handle.update(HTML(""))


def bar(progress: Progress) -> str:
    """A run's progress as HTML."""
    done, planned = progress.done, max(progress.planned, 1)
    return f'<progress value="{done}" max="{planned}" style="width:20em"></progress> {esc(line(progress))}'
