"""Runs the blocks of a manual's page in a folder. See `manual`."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import yaml
from manual import ROOT, Block, agree, blocks, commands, presentable

from proctor import ConfigError, config_from_dict, load_config, run_evaluation
from proctor.cli import main
from proctor.registry import KINDS

STAND_INS = {"agents": [{"policy": "random"}], "tasks": ["CartPole-v1"]}
ABSENT = ("no such file", "no file matches")
SHELL = re.compile(r"[|&;<>$*?`]")
QUOTED = re.compile(r"'[^']*'")
TAKES_OPTIONS = ("run", "submit", "check", "demo", "tune", "goals")
TAKES_NONE = ["goals", "report"]


class Session:
    """The folder of one page, and what has run in it. `update` writes new outputs into the page where the shown ones
    differ; otherwise a difference is an AssertionError."""

    def __init__(self, folder: Path, *, update: bool):
        self.folder, self.update = folder, update
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._printed: str | None = None
        self._named = ""
        self._plugged_in = False
        self._background: list[subprocess.Popen[bytes]] = []
        self._new_texts: list[tuple[Block, str]] = []
        self._ports = {"8000": _free_port(), "8001": _free_port()}
        (folder / "examples").symlink_to(ROOT / "examples")

    def read(self, page: Path) -> None:
        """Run a page from top to bottom, then every config that no command of the page names, for one trial."""
        try:
            self._read(page)
        finally:
            self._rewrite(page)
            for process in self._background:
                process.terminate()
                process.wait(20)

    def _read(self, page: Path) -> None:
        found = list(blocks(page))
        self._named = "\n".join(b.text for b in found if b.language in ("bash", "setup"))
        for block in found:
            if block.runs:
                getattr(self, f"_{block.language or 'drawing'}")(block)
        for block in found:
            if block.language == "yaml" and block.file and block.runs and block.file not in self._named:
                self._one_trial(block)

    def _drawing(self, block: Block) -> None:
        """Blocks without a language are drawings."""

    def _write(self, block: Block) -> bool:
        if block.file:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._with_port(block.text))
        return block.file is not None

    def _with_port(self, text: str) -> str:
        """Pages use the ports 8000 and 8001, which may be taken here."""
        return re.sub("800[01]", lambda found: str(self._ports[found[0]]), text)

    def _toml(self, block: Block) -> None:
        groups = tomllib.loads(block.text).get("project", {}).get("entry-points", {})
        unknown = set(groups) - {registry.group for registry in KINDS}
        assert not unknown, f"{block.where}: no such entry point group: {unknown}"
        self._write(block)

    def _yaml(self, block: Block) -> None:
        if self._write(block) or block.kind == "other":
            return
        assert block.kind == "fragment", f"{block.where}: say in the first line what this block is"
        try:
            config_from_dict({**STAND_INS, **yaml.safe_load(block.text)}, self.folder)
        except ConfigError as error:
            left = [str(p) for p in error.problems if not p.message.startswith(ABSENT)]
            assert not left, f"{block.where}: " + "\n".join(left)

    def _one_trial(self, block: Block) -> None:
        assert block.file
        overrides = ["n_trials=1", "workers=inline", f"output_root={self.folder / 'results' / 'eval_runs'}"]
        results = list(run_evaluation(load_config(self.folder / block.file, overrides)).results())
        assert results, block.where
        bad = [r.error for r in results if not r.outcome.scored or r.outcome.broken_by_policy]
        assert not bad, f"{block.where}: {bad}"

    def _python(self, block: Block) -> None:
        if self._write(block):
            return
        code = compile(self._with_port(block.text), block.where, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as out, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            exec(code, self._names)
        self._printed = out.getvalue()

    def _text(self, block: Block) -> None:
        assert self._printed is not None, f"{block.where}: nothing has run before this output"
        printed = self._printed.replace(str(self.folder.resolve()), "/home/me")
        if agree(block.text, printed):
            return
        new = presentable(printed, block.text)
        assert self.update, f"{block.where} shows\n{block.text}\nbut this was printed\n{new}"
        self._new_texts.append((block, new))

    def _rewrite(self, page: Path) -> None:
        text = page.read_text()
        for block, new in reversed(self._new_texts):
            text = text[: block.start] + new + text[block.end :]
        if self._new_texts:
            page.write_text(text)

    def _setup(self, block: Block) -> None:
        self._bash(block)

    def _bash(self, block: Block) -> None:
        if block.mark("in the background") is not None:
            line = f"exec {self._with_port(block.text)}"
            self._background.append(subprocess.Popen(["bash", "-c", line], env=self._environment()))
            _wait_for_port(next(port for written, port in self._ports.items() if written in block.text))
            return
        lines = [block.text] if "<<" in block.text else list(commands(block.text))
        printed, code = "", 0
        for line in lines:
            assert code == 0, f"{block.where}: exit code {code}:\n{printed}"
            code, out = self._command(line, block.mark("with") or "")
            printed += out
        expected = int(block.mark("exit code") or 0)
        assert code == expected, f"{block.where}: exit code {code} instead of {expected}:\n{printed}"
        self._printed = printed

    def _command(self, line: str, more: str) -> tuple[int, str]:
        words = line.split()
        if words[0] == "files":
            for block in blocks(ROOT / "docs" / words[1]):
                self._write(block)
            return 0, ""
        if words[:2] == ["pip", "install"]:
            self._plugged_in = True
            line = line.replace("pip install -e", "pip install -q --no-deps --no-build-isolation --target .site", 1)
        if words[0] == "proctor" and words[1] in TAKES_OPTIONS and words[1:3] != TAKES_NONE and more:
            first, arrow, rest = line.partition(" >")
            line = f"{first} {more}{arrow}{rest}"
        before = self._runs()
        outside = self._plugged_in or words[0] != "proctor" or SHELL.search(QUOTED.sub("", line))
        code, out = self._in_a_shell(line) if outside else _in_this_process(shlex.split(line))
        if new := sorted(self._runs() - before):
            part = re.search(r"--shard (\d+)/", line)
            link = self.folder / (f"RUN_{part[1]}" if part else "RUN")
            link.unlink(missing_ok=True)
            link.symlink_to(new[-1])
        return code, out

    def _runs(self) -> set[Path]:
        return {path.parent for path in (self.folder / "results").glob("*/*/ledger.sqlite")}

    def _environment(self) -> dict[str, str]:
        paths = [self.folder / ".site", self.folder] if self._plugged_in else [self.folder]
        env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        env["PYTHONPATH"] = ":".join(map(str, paths))
        return env

    def _in_a_shell(self, line: str) -> tuple[int, str]:
        ran = subprocess.run(["bash", "-c", line], env=self._environment(), capture_output=True, text=True)
        return ran.returncode, ran.stdout + (ran.stderr if ran.returncode else "")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def _wait_for_port(port: int) -> None:
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise AssertionError(f"nothing listens on port {port} after 30 s")


def _in_this_process(words: list[str]) -> tuple[int, str]:
    out, err, argv = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = words
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.argv = argv
    return code, out.getvalue() + (err.getvalue() if code else "")


@contextlib.contextmanager
def kept_apart(folder: Path) -> Iterator[None]:
    """Modules and environments that a page brings are forgotten afterwards."""
    known = dict(gymnasium.registry)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        gymnasium.registry.clear()
        gymnasium.registry.update(known)
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]
