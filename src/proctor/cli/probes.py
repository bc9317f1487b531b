"""The checks behind `proctor doctor`. What could crash a process (graphics drivers) is tried in one of its
own."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import shared_memory

from proctor.cli.doctor import Check
from proctor.errors import ProctorError
from proctor.interpreters import command
from proctor.threads import cores

PROBE_TIMEOUT_S = 30.0
DEVELOPERS = ("dev", "docs", "test")
"""Extras for work on Proctor itself."""
Needs = tuple[Sequence[tuple[str, str]], str | None]
"""(package, extra) of everything that a part imports, and its own way to install it, where it has one."""


def machine() -> list[Check]:
    """Processor, shared memory, disk."""
    count, free = cores(), shutil.disk_usage(".").free
    return [
        Check("python", True, f"{platform.python_version()} on {platform.platform()}"),
        Check("cpu", True, f"{count} core{'s' if count != 1 else ''} for this process"),
        _shared_memory(),
        Check("disk", free > 1e9, f"{_gigabytes(free)} free here", "free some space; a run keeps every trial"),
    ]


def _shared_memory() -> Check:
    try:
        block = shared_memory.SharedMemory(create=True, size=1 << 20)
    except OSError as error:
        return Check("shared memory", False, str(error), "use workers: inline, or give the container --shm-size=1g")
    block.close()
    block.unlink()
    if not os.path.isdir("/dev/shm"):
        return Check("shared memory", True, "works")
    free = shutil.disk_usage("/dev/shm").free
    return Check("shared memory", free > 64e6, f"{_gigabytes(free)} free", "give the container --shm-size=1g")


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB"


def packages() -> list[Check]:
    """What Proctor and its extras declare, with the versions found."""
    try:
        declared = importlib.metadata.requires("proctor") or []
    except importlib.metadata.PackageNotFoundError:
        return [Check("proctor", False, "runs from a source folder that is not installed", "pip install -e .")]
    found = [Check("proctor", True, importlib.metadata.version("proctor"))]
    seen = {"proctor"}
    for requirement in declared:
        name = re.split(r"[^A-Za-z0-9_.-]", requirement, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", requirement)
        if name in seen or (extra and extra[1] in DEVELOPERS):
            continue
        seen.add(name)
        found.append(_package(name, f'pip install "proctor[{extra[1]}]"' if extra else f"pip install {name}"))
    return found


def _package(name: str, fix: str) -> Check:
    try:
        return Check(name, True, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Check(name, False, "not installed", fix)


def suites() -> list[Check]:
    """Each suite and whether what it needs can be imported."""
    from proctor.registry import SUITES
    from proctor.suites import find_suite

    def needs(name: str) -> Needs:
        suite = find_suite(name)
        return suite.needs(), suite.install

    return [_in_runtime(_part(name, needs), lambda name: find_suite(name).runtime) for name in SUITES.names()]


def _in_runtime(check: Check, home: Callable[[str], str | None]) -> Check:
    """A part that cannot be imported here is well where its runtime, `home`, is installed; else that is a way, too."""
    from proctor.runtimes.verify import problems_of

    if check.ok or check.fix is None or (name := home(check.name)) is None:
        return check
    _, problems = problems_of(name)
    if not problems:
        return Check(check.name, True, f"{check.detail}, and runs in its runtime")
    return replace(check, fix=" or ".join(dict.fromkeys([check.fix, problems[0].command])))


def runtimes() -> list[Check]:
    """Each runtime that is installed, or half so."""
    from proctor.runtimes import store
    from proctor.runtimes.verify import problems_of

    found = []
    for name in store.names():
        installed, problems = problems_of(name)
        if not problems and installed is not None:
            what = f"Python {installed.python}, {len(installed.packages)} packages"
            found.append(Check(name, True, what))
        elif problems[0].state != "absent":
            sentence = problems[0].sentence.rpartition("; ")[0]
            found.append(Check(name, False, sentence, problems[0].command, fault="broken"))
    return found


def policies() -> list[Check]:
    """Each policy loader and whether what it needs can be imported."""
    from proctor.registry import LOADERS

    def needs(name: str) -> Needs:
        loader = LOADERS.load(name)
        return loader.needs, None if loader.runtime is None else f"proctor runtimes install {loader.runtime}"

    return [_in_runtime(_part(name, needs), lambda name: LOADERS.load(name).runtime) for name in LOADERS.names()]


def plugins() -> list[Check]:
    """The packages that bring parts, and the names that are refused because more than one package claims them."""
    from proctor.registry import KINDS, OWN

    brought: dict[str, list[str]] = {}
    for part in (part for registry in KINDS for part in registry.parts() if part.origin != OWN):
        brought.setdefault(part.origin, []).append(f"{part.kind} {part.name}")
    found = [Check(origin, True, f"brings {', '.join(parts)}") for origin, parts in sorted(brought.items())]
    refused = [(name, reason) for registry in KINDS for name, reason in registry.refused().items()]
    return [*found, *(Check(name, False, reason, fault="refused") for name, reason in refused)]


def _part(name: str, needs: Callable[[str], Needs]) -> Check:
    try:
        wanted, install = needs(name)
    except (ImportError, ProctorError) as error:
        return Check(name, False, f"cannot be loaded: {error}")
    missing = [(package, extra) for package, extra in wanted if importlib.util.find_spec(package) is None]
    if missing:
        extras = ",".join(dict.fromkeys(extra for _, extra in missing))
        listed = ", ".join(package for package, _ in missing)
        return Check(name, False, f"needs {listed}", install or f'pip install "proctor[{extras}]"')
    return Check(name, True, f"has {', '.join(package for package, _ in wanted)}" if wanted else "needs no extra")


@dataclass(frozen=True)
class Probe:
    """A piece of Python that exits with 0 where something works."""

    name: str
    code: str
    fix: str
    environment: dict[str, str] = field(default_factory=dict)


_MUJOCO = """
import mujoco
scene = '<worldbody><light pos="0 0 3"/><geom type="sphere" size=".2"/></worldbody>'
model = mujoco.MjModel.from_xml_string(f"<mujoco>{scene}</mujoco>")
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 64, 64) as renderer:
    renderer.update_scene(data)
    frame = renderer.render()
assert frame.shape == (64, 64, 3) and frame.max() > frame.min(), "the frame is empty"
"""
_PYGAME = """
import gymnasium
env = gymnasium.make("CartPole-v1", render_mode="rgb_array")
env.reset(seed=0)
frame = env.render()
assert frame.ndim == 3 and frame.max() > frame.min(), "the frame is empty"
"""
_MP4 = """
import tempfile, pathlib, numpy
from proctor.record.video import VideoWriter
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "probe.mp4"
    writer = VideoWriter(path, 30)
    for level in range(4):
        writer.add(numpy.full((32, 32, 3), 60 * level, numpy.uint8))
    writer.close()
    assert path.stat().st_size > 0, "the file is empty"
"""
_APT = "apt-get install"
PROBES = (
    Probe("mujoco with egl", _MUJOCO, f"{_APT} libegl1 libgl1", {"MUJOCO_GL": "egl"}),
    Probe("mujoco with osmesa", _MUJOCO, f"{_APT} libosmesa6", {"MUJOCO_GL": "osmesa"}),
    Probe("classic control (pygame)", _PYGAME, 'pip install "proctor[video]"', {"SDL_VIDEODRIVER": "dummy"}),
    Probe("mp4 (av)", _MP4, 'pip install "proctor[video]"'),
)


def rendering() -> list[Check]:
    """Frames from MuJoCo, by either way of rendering without a screen (one is enough), and from pygame; mp4
    files."""
    with ThreadPoolExecutor(len(PROBES)) as pool:
        checks = list(pool.map(run_probe, PROBES))
    if not any(check.ok for check in checks if check.name.startswith("mujoco")):
        return checks
    return [
        check
        if check.ok or not check.name.startswith("mujoco")
        else replace(check, detail=f"not needed: {check.detail}")
        for check in checks
    ]


def run_probe(probe: Probe) -> Check:
    """Try a probe in a process of its own."""
    try:
        done = subprocess.run(
            command(probe.code),
            env={**os.environ, **probe.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return Check(probe.name, False, f"gave no answer within {PROBE_TIMEOUT_S:g} s", probe.fix)
    if done.returncode == 0:
        return Check(probe.name, True, "works")
    return Check(probe.name, False, _reason(done), probe.fix)


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """The error's own line; drivers print more after it."""
    named = re.search(r"^[\w.]*(Error|Exception|NotInstalled|MissingExtra)\b.*", done.stderr, re.MULTILINE)
    return named[0].strip() if named else f"the process ended with code {done.returncode}"


SECTIONS: dict[str, Callable[[], list[Check]]] = {
    "machine": machine, "packages": packages, "suites": suites, "runtimes": runtimes, "policies": policies,
    "plug-ins": plugins, "rendering": rendering,
}  # fmt: skip
"""All checks by section. Nothing raises: what does not work is a finding."""
