"""Wheels of a few bytes, and a folder of them that pip and uv install from; no network, nothing to compile."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from proctor.runtimes.recipes import RuntimeSpecification, complete

TOY = complete(RuntimeSpecification("toybox", ("toy==1.0",), imports=("toy",)))
"""A runtime of the packages below."""
UNLINKED = """
import ctypes

try:
    ctypes.CDLL("libtoybox.so.7")
except OSError as error:
    raise ImportError(str(error))
"""
"""Fails as an extension module does whose library is missing."""
NUMPY = "__version__ = '2.0.0'\n"
"""A stand-in: nothing in a runtime's installation asks more of numpy than to be there."""


def write_wheel(
    folder: Path, name: str, version: str, modules: Mapping[str, str | bytes], requires: Sequence[str] = ()
) -> Path:
    """A wheel with these files (path -> text or bytes)."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    files = {
        **modules,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    plain = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    record = "".join(f"{path},sha256={_hash(data)},{len(data)}\n" for path, data in plain.items())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inner, data in plain.items():
            wheel.writestr(inner, data)
        wheel.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return path


def _hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def write_shelf(folder: Path) -> Path:
    """A folder with a few packages: a good one in two versions, and some that cannot be imported."""
    write_wheel(folder, "numpy", "2.0.0", {"numpy/__init__.py": NUMPY})
    for version in ("1.0", "1.1"):
        write_wheel(folder, "toy", version, {"toy/__init__.py": f"VERSION = '{version}'\n"}, ["toy-parts"])
    write_wheel(folder, "toy_parts", "3.0", {"toy_parts.py": "print('noise on standard output')\n"})
    write_wheel(folder, "toy_raises", "1.0", {"toy_raises.py": "raise RuntimeError('no display here')\n"})
    write_wheel(folder, "toy_crashes", "1.0", {"toy_crashes.py": "import os\nos.kill(os.getpid(), 11)\n"})
    write_wheel(folder, "toy_unlinked", "1.0", {"toy_unlinked.py": UNLINKED})
    return folder
