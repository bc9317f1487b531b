"""Starting the viewer: addresses, tokens, what is printed, and how it ends."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from viewing import until

from proctor.errors import InputError
from proctor.view.serve import Serving, greeting, is_loopback, serve

STARTED = [sys.executable, "-m", "proctor", "view", "--no-browser", "--port", "0"]


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("[::1]", True), ("localhost", True),
        ("0.0.0.0", False), ("::", False), ("192.168.1.5", False), ("localhost.example", False), ("", False),
    ],
)  # fmt: skip
def test_only_loopback_addresses_need_no_token(host: str, own: bool) -> None:
    assert is_loopback(host) is own


def test_what_is_printed_leads_there_from_elsewhere() -> None:
    here = greeting(Serving(), "http://127.0.0.1:8765/", 8765, 2)
    assert here[0] == "viewer: http://127.0.0.1:8765/ (2 runs; Ctrl-C ends it)"
    assert here[1] == f"from another machine: ssh -L 8765:127.0.0.1:8765 {socket.gethostname()}"
    there = greeting(Serving(host="0.0.0.0"), "http://0.0.0.0:8765/?token=x", 8765, 0)
    assert "no run yet" in there[0]
    assert "not encrypted" in there[1]


def test_a_folder_that_is_none_and_a_port_that_is_taken_are_said(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra `view` is not installed")
    with pytest.raises(InputError, match="there is no folder"):
        serve([tmp_path / "none"], Serving(browser=False), print)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1 port {port}: .*--port"):
            serve([tmp_path], Serving(port=port, browser=False), print)


@pytest.mark.parametrize("package", ["uvicorn", "starlette"])
def test_without_the_extra_the_command_that_installs_it_is_said(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_Without(package), *sys.meta_path])
    with pytest.raises(
        InputError, match=rf'needs the package "{package}"; install it with: pip install "proctor\[view\]"'
    ):
        serve([tmp_path], Serving(browser=False), print)


class _Without:
    def __init__(self, package: str):
        self._package = package

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == self._package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_it_answers_and_ends_quietly_also_while_somebody_watches(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra `view` is not installed")
    process = subprocess.Popen([*STARTED, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+/", process.stdout.readline())
        assert found is not None
        with urlopen(found[0]) as answer:
            assert b"<title>Proctor</title>" in answer.read()
        process.send_signal(signal.SIGINT)
        until(lambda: process.poll() is not None)
        assert process.returncode in (0, 130)
        assert process.communicate()[1] == ""
    finally:
        process.kill()
        process.communicate()


def test_another_address_makes_up_a_token_and_asks_for_it(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra `view` is not installed")
    command = [*STARTED, "--host", "0.0.0.0", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://0\.0\.0\.0:(\d+)/\?token=(\S+)", process.stdout.readline())
        assert found is not None
        with pytest.raises(HTTPError, match="401"):
            urlopen(f"http://127.0.0.1:{found[1]}/").close()
        known = Request(f"http://127.0.0.1:{found[1]}/api/runs", headers={"Authorization": f"Bearer {found[2]}"})
        with urlopen(known) as answer:
            assert b'"runs":[]' in answer.read()
    finally:
        process.kill()
        process.communicate()
