"""`proctor runtimes`: interpreters of their own for simulators that cannot live in this one."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proctor.cli.list import first_sentence
from proctor.cli.options import Json, Quiet, Sets, console, table

if TYPE_CHECKING:
    from proctor.runtimes.install import Hear
    from proctor.runtimes.recipes import RuntimeSpecification
    from proctor.runtimes.store import Installed, Lock

runtimes_app = typer.Typer(
    help="Install and verify interpreters of their own for simulators.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def runtime_name(text: str) -> str:
    """A version may also be chosen as pip has it: NAME==VERSION."""
    return text.replace("==", "@")


Name = Annotated[str, typer.Argument(metavar="NAME", help="A recipe, or NAME@VERSION.", parser=runtime_name)]


@runtimes_app.command("install")
def install_command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME ...]", help="Recipes; NAME@VERSION chooses a version.")
    ] = None,
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="Install everything that this config needs.")
    ] = None,
    sets: Sets = None,
    python: Annotated[
        str | None, typer.Option(metavar="PATH", help="The interpreter to build it with. Default: one that fits.")
    ] = None,
    from_lock: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Install the exact versions of a lock.txt.")
    ] = None,
    options: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=PATH", help="What a recipe must be told.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Build it anew, even if it is in order.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Build a runtime from its recipe.

    Uses uv where that is on the path, else venv and pip, with whatever they are configured to. A runtime counts once
    it has proved to work; what is interrupted is never used.
    """
    from proctor.runtimes.install import Wishes, install
    from proctor.runtimes.store import read_lock

    lock = None if from_lock is None else read_lock(from_lock)
    wanted = _wanted(names or [], config, sets or [], options or [], lock)
    for specification in wanted:
        began = time.monotonic()
        with _hearing(quiet or as_json) as hear:
            installed, built = install(specification, Wishes(python, lock, again), hear)
        _show_installed(installed, time.monotonic() - began if built else None, as_json)
    if not wanted and not as_json:
        typer.echo("nothing to install: every task runs in this interpreter, or in one that the config names")


def _wanted(
    names: list[str], config: str | None, sets: list[str], options: list[str], lock: Lock | None
) -> list[RuntimeSpecification]:
    from proctor.errors import InputError
    from proctor.runtimes import store
    from proctor.runtimes.recipes import UNNAMED, specify

    if config is not None:
        if names:
            raise InputError("found both NAME and --config; expected one of them")
        return _of_config(config, sets)
    names = names or ([lock.name] if lock is not None and lock.name else [])
    if not names:
        raise InputError("found no NAME; expected a recipe (`proctor runtimes list` shows them) or --config FILE")
    if lock is not None and len(names) > 1:
        raise InputError("found several names with --from-lock; a lock is of one runtime")
    given = dict(_option(text) for text in options)
    found = []
    for name in names:
        kept = store.read_quietly(runtime_name(name))
        if kept is not None and name.startswith(UNNAMED):
            found.append(kept.specification)
            continue
        found.append(specify(name, {**({} if kept is None else kept.specification.options), **given}))
    return found


def _option(text: str) -> tuple[str, str]:
    from proctor.errors import InputError

    name, equal, value = text.partition("=")
    if not equal or not name or not value:
        raise InputError(f'found --option "{text}"; expected NAME=PATH')
    return name, value


def _of_config(config: str, sets: list[str]) -> list[RuntimeSpecification]:
    """What the tasks and agents of a config need and is installed by name; interpreters that it names by path are there
    already, or not for us to make."""
    from proctor.config import load_config
    from proctor.rollout.hosted import home_of
    from proctor.runtimes import store
    from proctor.runtimes.locating import needed_for
    from proctor.runtimes.recipes import described, specify
    from proctor.suites import suite_for

    found: dict[str, RuntimeSpecification] = {}
    loaded = load_config(config, sets)
    needed = [needed_for(task, suite_for(task)) for task in loaded.tasks] + [home_of(agent) for agent in loaded.agents]
    for cfg in needed:
        if cfg is not None and cfg.packages is not None:
            specification = described(cfg)
        elif cfg is not None and cfg.name is not None:
            kept = store.read_quietly(cfg.name)
            specification = specify(cfg.name, None if kept is None else kept.specification.options)
        else:
            continue
        found.setdefault(specification.name, specification)
    return list(found.values())


def _show_installed(installed: Installed, seconds: float | None, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"built": seconds is not None, **_as_dict(installed)}))
        return
    took = "was installed already" if seconds is None else f"is installed, in {seconds:.0f} s"
    what = f"Python {installed.python}, {len(installed.packages)} packages, {_size(installed.size_bytes)}"
    typer.echo(f"{installed.name} {took}: {what}, hash {installed.hash[:12]}\n{installed.folder}")
    if seconds is not None and installed.specification.notes:
        typer.echo(f"note: {installed.specification.notes}")


@runtimes_app.command("list")
def list_command(as_json: Json = False) -> None:
    """List recipes and what is installed of them."""
    from proctor.registry import RUNTIMES
    from proctor.runtimes import store

    known = {part.name for part in RUNTIMES.parts() if part.name not in RUNTIMES.refused()}
    rows = [_row(name) for name in sorted(known | set(store.names()))]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    out = console(130)
    shown = table("name", "state", "python", "packages", "size")
    for column in shown.columns:
        column.justify = "left"
    for row in rows:
        main = ", ".join(f"{name} {version}" for name, version in row["packages"].items())
        size = "" if row["size_bytes"] is None else _size(row["size_bytes"])
        shown.add_row(row["name"], row["state"], row["python"] or "", main or row["about"], size)
    out.print(shown)
    typer.echo(f"folder: {store.folder()}")
    for row in rows:
        for problem in row["problems"]:
            typer.echo(f"{problem['sentence']}: {problem['command']}")


def _row(name: str) -> dict[str, Any]:
    """A line of the list. What is not installed is no problem."""
    from proctor.registry import RUNTIMES
    from proctor.runtimes import store
    from proctor.runtimes.verify import problems_of

    installed, problems = problems_of(name)
    state = problems[0].state if problems else "installed"
    recipe = RUNTIMES.load(name) if name in RUNTIMES and name not in RUNTIMES.refused() else None
    about = "" if recipe is None else first_sentence(recipe)
    return {
        "name": name,
        "state": state,
        "python": None if installed is None else installed.python,
        "packages": {} if installed is None else main_packages(installed),
        "size_bytes": None if installed is None else installed.size_bytes,
        "hash": None if installed is None else installed.hash,
        "folder": str(store.folder_of(name)),
        "about": about,
        "problems": [{"sentence": p.sentence, "command": p.command} for p in problems if p.state != "absent"],
    }


def main_packages(installed: Installed) -> dict[str, str]:
    """The packages that the recipe names, with their versions."""
    import re

    found = {}
    for requirement in installed.specification.packages:
        word = re.match(r"[A-Za-z0-9][\w.-]*", requirement)
        name = re.sub(r"[-_.]+", "-", word[0]).lower() if word else ""
        if name in installed.packages:
            found[name] = installed.packages[name]
    return found


@runtimes_app.command("show")
def show_command(name: Name, as_json: Json = False) -> None:
    """Show a recipe, and the exact versions of what is installed."""
    from proctor.config.runtime import split_name
    from proctor.registry import RUNTIMES
    from proctor.runtimes import store
    from proctor.runtimes.recipes import UNNAMED
    from proctor.runtimes.verify import problems_of

    installed, problems = problems_of(name)
    if installed is not None and (name.startswith(UNNAMED) or split_name(name)[0] not in RUNTIMES):
        recipe = {"recipe": "as it was when it was installed", **installed.specification.as_dict()}
    else:
        recipe = _recipe(name)
    if as_json:
        shown = {"name": name, "recipe": recipe, "installed": None if installed is None else _as_dict(installed)}
        typer.echo(json.dumps({**shown, "problems": [vars(problem) for problem in problems]}, indent=2))
        return
    for key, value in recipe.items():
        if value:
            typer.echo(f"{key}: {_words(value)}")
    for problem in problems:
        typer.echo(str(problem))
    if installed is not None:
        typer.echo(f"interpreter: {installed.interpreter} (made of {installed.made_of}, with {installed.installer})")
        typer.echo(f"size: {_size(installed.size_bytes)}\n")
        typer.echo(store.lock_text(installed), nl=False)


def _recipe(name: str) -> dict[str, Any]:
    from proctor.config.runtime import split_name
    from proctor.registry import RUNTIMES

    recipe_name, version = split_name(name)
    part, recipe = RUNTIMES.part(recipe_name), RUNTIMES.load(recipe_name)
    chosen = [f"{recipe.versioned}=={version}"] if version and recipe.versioned else []
    return {
        "recipe": recipe_name,
        "from": part.origin,
        "about": " ".join((recipe.__doc__ or "").split()),
        "packages": [*recipe.packages, *chosen],
        "python": recipe.python,
        "imports": list(recipe.imports),
        "system": dict(recipe.system),
        "options": dict(recipe.options),
        "notes": recipe.notes,
    }


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} ({inner})" for key, inner in value.items())
    return ", ".join(value) if isinstance(value, list) else str(value)


@runtimes_app.command("remove")
def remove_command(name: Name, quiet: Quiet = False) -> None:
    """Remove an installed runtime."""
    from proctor.errors import InputError
    from proctor.runtimes.install import remove

    with _hearing(quiet) as hear:
        removed = remove(name, hear)
    if not removed:
        raise InputError(f'the runtime "{name}" is not installed; `proctor runtimes list` shows what is')
    typer.echo(f"{name} is removed")


@runtimes_app.command("verify")
def verify_command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Default: all that are installed.")] = None,
    as_json: Json = False,
) -> None:
    """Start interpreters and compare versions with their locks.

    Also imports what the recipes name. Exit code 1 where something is wrong; each problem comes with the command that
    mends it.
    """
    from proctor.runtimes import store
    from proctor.runtimes.verify import problems_of

    names = store.names() if name is None else [runtime_name(name)]
    wrong = False
    for one in names:
        installed, problems = problems_of(one, thorough=True)
        if name is None and all(problem.state == "absent" for problem in problems) and problems:
            continue
        wrong = wrong or bool(problems)
        if as_json:
            found = [vars(problem) for problem in problems]
            typer.echo(json.dumps({"name": one, "ok": not problems, "problems": found}))
            continue
        if not problems and installed is not None:
            typer.echo(f"ok  {one}: Python {installed.python}, {len(installed.packages)} packages as in its lock")
            if _recipe_has_changed(installed):
                command = f"proctor runtimes install {one}"
                typer.echo(f"note: the recipe of {one} has changed since it was installed; renew it with: {command}")
        for problem in problems:
            typer.echo(str(problem))
    if not names and not as_json:
        typer.echo("no runtime is installed")
    if wrong:
        raise typer.Exit(1)


def _recipe_has_changed(installed: Installed) -> bool:
    from proctor.errors import InputError
    from proctor.runtimes.recipes import UNNAMED, specify

    try:
        known = None if installed.name.startswith(UNNAMED) else specify(installed.name, installed.specification.options)
    except InputError:
        return False
    return known is not None and known != installed.specification


def _as_dict(installed: Installed) -> dict[str, Any]:
    return {**installed.as_dict(), "interpreter": str(installed.interpreter), "folder": str(installed.folder)}


def _size(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


@contextmanager
def _hearing(quiet: bool) -> Iterator[Hear]:
    """Who hears of an installation: on a terminal a spinner with the installer's last line, elsewhere a line for each
    step. SIGTERM ends it as Ctrl-C does, so that nothing is left lying about."""
    from proctor.runtimes.install import Hear

    def stop(_number: int, _frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        if quiet:
            yield Hear(lambda text: None, lambda text: None)
        elif not sys.stderr.isatty():
            yield Hear(lambda text: print(text, file=sys.stderr, flush=True), lambda text: None)
        else:
            with _spinner() as hear:
                yield hear
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _spinner() -> Iterator[Hear]:
    from rich.console import Console
    from rich.markup import escape

    from proctor.runtimes.install import Hear

    out = Console(stderr=True, highlight=False)
    with out.status("looking for an interpreter") as status:

        def step(text: str) -> None:
            out.print(text, markup=False)
            status.update(escape(text[: max(20, out.width - 4)]))

        def line(text: str) -> None:
            status.update(escape(text[: max(20, out.width - 4)]))

        yield Hear(step, line)
