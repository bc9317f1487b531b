"""Every part that a config can name, by kind and name.

A *part* is a class that fulfils a contract: a suite, a loader, a metric and so on. Proctor's own parts are listed in
`parts.py` modules, one for the core and one in each folder of `suites/`; other packages list theirs as entry points in
the group of the kind (`proctor.suites`, `proctor.loaders`, ...). Both are a name and an import string, so that listing
costs no import. A name belongs to whoever had it first: a plug-in's part with the name of a built-in part, or of
another plug-in's, is refused when that name is used.

An import string is `package.module:Name` or `path/to/file.py:Name`.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import sys
import traceback
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from proctor.errors import BREAKS, InputError, ProctorError
from proctor.interpreters import is_neighbour, search_last

if TYPE_CHECKING:
    from proctor.config.forms import ConfigForm
    from proctor.metrics.protocol import Metric, MetricFamily
    from proctor.policies.loader import Loader
    from proctor.report.formats.base import Format
    from proctor.report.section import Section
    from proctor.rollout.backends.base import Backend
    from proctor.runs.loggers.base import Logger
    from proctor.runtimes.recipes import RuntimeRecipe
    from proctor.scoring.protocol import Scoring
    from proctor.suites.protocol import Suite

T = TypeVar("T")
OWN = "proctor"
"""The origin of the parts that come with Proctor."""


@dataclass(frozen=True)
class Part:
    """One registered part. `origin` is the distribution that brings it, with its version unless it is Proctor."""

    kind: str
    name: str
    target: str
    origin: str


class Registry(Generic[T]):
    """The parts of one kind, e.g. suites. `group` is the entry point group that other packages use. `contract` is the
    import string of the class that every part is a subclass of, which `proctor` exports; None: a part may be anything.
    `builtin` replaces the parts of `parts.py`."""

    def __init__(self, kind: str, group: str, contract: str | None, builtin: Mapping[str, str] | None = None):
        self.kind, self.group, self.contract = kind, group, contract
        self._builtin = builtin

    @property
    def builtin(self) -> Mapping[str, str]:
        """Name to import string of the parts that come with Proctor."""
        return _builtin_parts().get(self.group, {}) if self._builtin is None else self._builtin

    def parts(self) -> list[Part]:
        """Every part by name, contested ones once for each origin."""
        own = [Part(self.kind, name, target, OWN) for name, target in self.builtin.items()]
        others = [Part(self.kind, entry.name, entry.value, origin) for entry, origin in _entries(self.group)]
        return sorted([*own, *others], key=lambda part: (part.name, part.origin != OWN, part.origin))

    def names(self) -> list[str]:
        return sorted({part.name for part in self.parts()})

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.builtin or name in self.names())

    def refused(self) -> dict[str, str]:
        """The names that more than one package claims, each with a sentence that says which and what to do."""
        claims: dict[str, list[Part]] = {}
        for part in self.parts():
            claims.setdefault(part.name, []).append(part)
        return {name: _contested(parts) for name, parts in claims.items() if len(parts) > 1}

    def part(self, name: str) -> Part:
        """The part of this name. Raises InputError where there is none, or where two packages claim the name."""
        found = [part for part in self.parts() if part.name == name]
        if len(found) > 1:
            raise InputError(_contested(found))
        if not found:
            raise InputError(
                f'unknown {self.kind} "{name}"'
                + did_you_mean(name, self.names())
                + f" (known: {', '.join(self.names())})"
            )
        return found[0]

    def load(self, name: str) -> type[T]:
        """The class of this name. Raises InputError where it is not what the kind's contract says."""
        part = self.part(name)
        origin = "" if part.origin == OWN else f" (from {part.origin})"
        return self.checked(import_object(part.target), f'the {self.kind} "{name}"{origin}')

    def find(self, name: str, base: Path | None = None) -> type[T]:
        """The class of this name, or behind this import string (files are looked for under `base`)."""
        return self.checked(import_object(name, base), f'the {self.kind} "{name}"') if ":" in name else self.load(name)

    def checked(self, found: Any, who: str) -> type[T]:
        """`found`, if it is a subclass of the contract; InputError otherwise."""
        contract = self.contract
        if contract is not None and not (isinstance(found, type) and issubclass(found, import_object(contract))):
            raise InputError(f"{who} is {found!r}; expected a subclass of proctor.{contract.partition(':')[2]}")
        return cast("type[T]", found)


def _contested(parts: list[Part]) -> str:
    first, *others = parts
    kind, name = first.kind, first.name
    claims = " and ".join(f"{part.origin} ({part.target})" for part in others)
    if first.origin == OWN:
        return (
            f'the {kind} "{name}" of {claims} has the name of a part of Proctor and is refused; uninstall or rename it'
        )
    both = f"{first.origin} ({first.target}) and {claims}"
    return f'the {kind} "{name}" comes from {both}, so both are refused; uninstall one of them'


@functools.lru_cache(maxsize=None)  # noqa: UP033 - a policy may live in an older Python
def _builtin_parts() -> Mapping[str, Mapping[str, str]]:
    """Of the core and of every folder in `suites/` that has a `parts.py`: group -> name -> import string."""
    rooms = sorted((Path(__file__).parent / "suites").glob("*/parts.py"))
    modules = ["proctor.parts", *(f"proctor.suites.{path.parent.name}.parts" for path in rooms)]
    found: dict[str, dict[str, str]] = {}
    for module in modules:
        for group, parts in importlib.import_module(module).PARTS.items():
            known = found.setdefault(group, {})
            for name, target in parts.items():
                if name in known:
                    raise ValueError(f"{module} lists {name} in {group}, which {known[name]} has already")
                known[name] = target
    return found


@functools.lru_cache(maxsize=None)  # noqa: UP033 - a policy may live in an older Python
def _entries(group: str) -> list[tuple[importlib.metadata.EntryPoint, str]]:
    """Entry points of other distributions, each with who brings it."""
    found = []
    for entry in importlib.metadata.entry_points(group=group):
        dist = entry.dist
        found.append((entry, "an unnamed package" if dist is None else f"{dist.name} {dist.version}"))
    return found


SUITES: Registry[Suite] = Registry("suite", "proctor.suites", "proctor.suites.protocol:Suite")
LOADERS: Registry[Loader] = Registry("policy loader", "proctor.loaders", "proctor.policies.loader:Loader")
METRICS: Registry[Metric] = Registry("metric", "proctor.metrics", "proctor.metrics.protocol:Metric")
FAMILIES: Registry[MetricFamily] = Registry(
    "metric family", "proctor.metric_families", "proctor.metrics.protocol:MetricFamily"
)
SCORINGS: Registry[Scoring] = Registry("scoring", "proctor.scorings", "proctor.scoring.protocol:Scoring")
BACKENDS: Registry[Backend] = Registry("worker backend", "proctor.backends", "proctor.rollout.backends.base:Backend")
SECTIONS: Registry[Section] = Registry("report section", "proctor.sections", "proctor.report.section:Section")
FORMATS: Registry[Format] = Registry("report format", "proctor.formats", "proctor.report.formats.base:Format")
LOGGERS: Registry[Logger] = Registry("logger", "proctor.loggers", "proctor.runs.loggers.base:Logger")
FORMS: Registry[ConfigForm] = Registry("config form", "proctor.forms", "proctor.config.forms:ConfigForm")
RUNTIMES: Registry[RuntimeRecipe] = Registry(
    "runtime recipe", "proctor.runtimes", "proctor.runtimes.recipes:RuntimeRecipe"
)
KINDS: tuple[Registry[Any], ...] = (
    SUITES, LOADERS, METRICS, FAMILIES, SCORINGS, BACKENDS, SECTIONS, FORMATS, FORMS, LOGGERS,
    RUNTIMES,
)  # fmt: skip


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that `word` most likely meant."""
    hits = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return hits[0] if hits else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error's sentence that names the nearest known name; empty where none is near."""
    hint = nearest(word, known)
    return f'; did you mean "{hint}"?' if hint else ""


def signature_of(target: Any, name: str) -> inspect.Signature:
    """The signature of a class or a factory. Raises InputError where it has none that can be read."""
    try:
        return inspect.signature(target)
    except (TypeError, ValueError):
        raise InputError(f"{name} has no readable signature; wrap it in a Python function") from None


def call_target(target: Any, name: str, given: Mapping[str, Any], kwargs: Mapping[str, Any]) -> Any:
    """What a class or a factory makes of `kwargs`, and of those of `given` that its signature names."""
    signature = signature_of(target, name)
    arguments = {**{key: value for key, value in given.items() if key in signature.parameters}, **kwargs}
    try:
        signature.bind(**arguments)
    except TypeError as error:
        raise InputError(f"{name}: {error} (kwargs: {', '.join(kwargs) or 'none'})") from None
    return target(**arguments)


def import_object(target: str, base: Path | None = None) -> Any:
    """The object behind an import string. File paths, and modules not on the path, are looked for under `base`."""
    module_name, _, attribute = target.partition(":")
    if not module_name or not attribute:
        raise InputError(f'"{target}" is not an import string; write package.module:Name or path/to/file.py:Name')
    module = import_file(module_name, base) if module_name.endswith(".py") else _import_module(module_name, base)
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise InputError(f'"{module_name}" has no "{part}"' + did_you_mean(part, dir(found)) + f" (from {target})")
        found = getattr(found, part)
    return found


def _import_module(name: str, base: Path | None) -> Any:
    beside = None if base is None else (base / Path(*name.split("."))).with_suffix(".py")
    if beside is not None and os.path.isfile(beside) and _means_neighbour(name, base):
        return import_file(beside)
    try:
        return importlib.import_module(name)
    except BREAKS as problem:
        missing = problem.name if isinstance(problem, ModuleNotFoundError) else None
        if missing is None or not (name == missing or name.startswith(missing + ".")):
            if name.partition(".")[0] == OWN and isinstance(problem, Exception):
                raise
            raise _not_imported(name, problem) from problem
    if beside is not None and os.path.isfile(beside):
        return import_file(beside)
    raise InputError(f'no module "{name}" on the Python path' + (f" or under {base}" if base else ""))


def _means_neighbour(name: str, base: Path | None) -> bool:
    """Whether a module of this name would be found beside another config than that in `base`."""
    try:
        spec = importlib.util.find_spec(name.partition(".")[0])
    except (ImportError, ValueError):
        return False
    packages = list(spec.submodule_search_locations or []) if spec is not None else []
    place = packages[0] if packages else None if spec is None else spec.origin
    if place is None or not is_neighbour(place):
        return False
    return base is None or os.path.dirname(os.path.realpath(place)) != os.path.realpath(base)


def import_file(name: str | Path, base: Path | None = None) -> Any:
    """The module of a Python file, which is looked for under `base`; the same file is run once per process. It may
    import the files beside it: its folder is put at the end of the path, where it hides nothing that is installed."""
    path = Path(name) if base is None else base / name
    if not os.path.isfile(path):
        raise InputError(f"no file {path}")
    path = path.resolve()
    module_name = f"proctor_user_{path.stem}_{zlib.crc32(str(path).encode()):08x}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    search_last([str(path.parent)])
    try:
        module = importlib.import_module(path.stem) if _found_by_name(path) else _executed(module_name, path)
    except BREAKS as problem:
        raise _not_imported(str(path), problem) from problem
    sys.modules[module_name] = module
    return module


def _found_by_name(path: Path) -> bool:
    """Whether `import NAME` leads to this file. Then it is imported so: others may import it by name, too (an entry
    point of Gymnasium, a pickle), and a file must run once."""
    if not path.stem.isidentifier():
        return False
    try:
        spec = importlib.util.find_spec(path.stem)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None and os.path.realpath(spec.origin) == str(path)


def _executed(module_name: str, path: Path) -> Any:
    """The module of a file under a name of its own."""
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module


def _not_imported(module: str, problem: BaseException) -> ProctorError:
    """What broke while a module of the user's was imported, with the file and line where it did."""
    if isinstance(problem, ProctorError):
        return problem
    if isinstance(problem, (SystemExit, GeneratorExit)):
        return InputError(
            f"{module} ends the program when it is imported ({problem!r}); put what it runs under "
            'if __name__ == "__main__":'
        )
    if isinstance(problem, SyntaxError):
        return InputError(
            f"{problem.filename or module}, line {problem.lineno}: {type(problem).__name__}: {problem.msg}"
        )
    frames = traceback.extract_tb(problem.__traceback__)
    own = [frame for frame in frames if frame.filename == module] or [
        frame for frame in frames if not frame.filename.startswith("<") and frame.filename != __file__
    ]
    where = f"{own[-1].filename}, line {own[-1].lineno}" if own else module
    return InputError(f"{where}: {type(problem).__name__}: {problem}")
