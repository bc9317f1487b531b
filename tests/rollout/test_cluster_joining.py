"""What Ray says when a process connects, in a sentence, and what it says later, in the log."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from proctor.errors import InputError
from proctor.rollout.cluster.joining import connect, unprepared

ray = pytest.importorskip("ray")


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A process that is not connected, whatever was tested before, and that is as it was afterwards."""
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray._private.worker, "print_to_stdstream", ray._private.worker.print_to_stdstream)
    return monkeypatch


def test_a_cluster_that_wants_a_token_says_so(apart: pytest.MonkeyPatch) -> None:
    """As Ray 2.60 tells it: in the cause of the error alone."""

    def refuse(**_: Any) -> None:
        try:
            raise RuntimeError(
                "Failed to connect to GCS.\nInvalidAuthToken: Authentication token is missing or incorrect"
            )
        except RuntimeError as cause:
            raise ConnectionError("Failed to connect to Ray cluster at 10.0.0.1:6379") from cause

    apart.setattr(ray, "init", refuse)
    with pytest.raises(InputError, match=r'cluster at "auto" wants a token .* export RAY_AUTH_MODE=token'):
        connect("auto")


def test_a_process_without_a_token_is_told_the_same(apart: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise ray.exceptions.AuthenticationError(
            "Token authentication is enabled but no authentication token was found."
        )

    apart.setattr(ray, "init", refuse)
    with pytest.raises(InputError, match="wants a token"):
        connect("auto")


def test_where_there_is_no_cluster_an_error_says_how_to_start_one(apart: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"there is no Ray cluster at .* start one with `ray start --head`"):
        connect("127.0.0.1:1")


def test_a_client_s_address_is_refused_with_what_to_do() -> None:
    with pytest.raises(InputError, match="start the run on a node of the cluster, with the address auto or HOST:PORT"):
        connect("ray://127.0.0.1:10001")


def test_what_ray_tells_of_nodes_is_logged_and_not_printed(
    apart: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard output may be JSON. `print_to_stdstream` is what Ray calls."""
    apart.setattr(ray, "init", lambda **_: None)
    connect("auto")
    with caplog.at_level(logging.INFO, "proctor"):
        said = {"lines": ["The node has been marked dead.\nA paragraph."], "pid": "raylet", "is_err": False}
        ray._private.worker.print_to_stdstream(said, ignore_prefix=False)
    assert caplog.messages == ["Ray: The node has been marked dead."]
    assert capsys.readouterr() == ("", "")


def test_a_node_that_cannot_prepare_what_a_run_brings_is_named() -> None:
    told = "Failed to set up.\n[Node 10.0.0.2] Traceback (most recent call last):\n  x\nOSError: no pip\n"
    why = "could not prepare workers.options.runtime_env"
    assert unprepared(RuntimeError(told)) == f"node 10.0.0.2 {why}: OSError: no pip"
    assert unprepared(RuntimeError("too late")) == f"a node {why}: too late"
