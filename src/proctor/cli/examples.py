"""`proctor examples`: the configs, agents and small checkpoints that come with Proctor."""

from __future__ import annotations

import ast
import itertools
import json
import shutil
from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.options import JsonAnswer
from proctor.errors import InputError

examples_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Configs, agents and small checkpoints to start from."
)


@examples_app.callback()
def _examples() -> None:
    pass


@examples_app.command("list")
def list_command(as_json: JsonAnswer = False) -> None:
    """List the examples, with a sentence for each."""
    found = abouts()
    width = max(map(len, found))
    lines = (f"{name.ljust(width)}  {about}" for name, about in found.items())
    typer.echo(json.dumps(found, indent=2) if as_json else "\n".join(lines))


@examples_app.command("copy")
def copy_command(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder, or an empty one.")]) -> None:
    """Copy all examples into a folder, to run and to change.

    Nothing is written over. The configs name agents and checkpoints by paths inside the folder, so it may lie anywhere.
    """
    count = copy(folder)
    typer.echo(f"{count} files in {folder}; to begin: proctor run {folder / DEMO}")


DEMO = "demo.yml"
"""The example that the core alone can run, without an extra."""


def examples() -> Path:
    """The folder of the examples: inside the package where it was built, beside the sources in a clone."""
    package = Path(__file__).parents[1]
    for folder in (package / "examples", package.parents[1] / "examples"):
        if (folder / DEMO).is_file():
            return folder
    raise InputError(f"the examples are not beside {package}; install Proctor from a wheel, or from a whole clone")


def files() -> list[Path]:
    """Every file of the examples, relative to their folder."""
    folder = examples()
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in found if "__pycache__" not in path.parts)


def abouts() -> dict[str, str]:
    """What can be run or read by itself, by name, with the first sentence that it says of itself."""
    readers = {".yml": _of_config, ".py": _of_script}
    named = [path for path in files() if path.parent == Path() and path.suffix in readers]
    return {path.name: readers[path.suffix]((examples() / path).read_text()) for path in named}


def copy(target: Path) -> int:
    """Copy the examples into a folder, and say how many files that were. Nothing is written over: InputError where one
    of them is there."""
    wanted = files()
    there = [str(path) for path in wanted if (target / path).exists()]
    if there:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise InputError(f"{target} has {there[0]}{more} already, and nothing is written over; name another folder")
    try:
        for path in wanted:
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(examples() / path, target / path)
    except OSError as error:
        raise InputError(f"cannot write the examples into {target}: {error.strerror or error}") from None
    return len(wanted)


def _of_config(text: str) -> str:
    lines = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    return _sentence(" ".join(line.removeprefix("#").strip() for line in lines))


def _of_script(text: str) -> str:
    return _sentence(" ".join((ast.get_docstring(ast.parse(text)) or "").split()))


def _sentence(text: str) -> str:
    """The first sentence, or question, without its full stop."""
    ends = [i for i in range(len(text)) if text[i] in ".?" and text[i + 1 : i + 2] in ("", " ")]
    return text[: ends[0] + 1].removesuffix(".") if ends else text
