"""This process as a member of a Ray cluster.

Ray takes folders of this machine to other nodes only for the whole of what a connection starts. So a run that brings a
`runtime_env` has a connection of its own, unless the program that it is a part of is connected already; whatever
connects after that run does so anew, without what the run has brought.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping
from typing import Any

from proctor.config.problems import did_you_mean
from proctor.errors import InputError, optional
from proctor_host.handshake import split_address

KNOCK_S = 10.0
WHERE = "workers.options.runtime_env"
PLUGINS = "RAY_RUNTIME_ENV_PLUGINS"
"""A variable of Ray's that names plug-ins, which take entries of their own."""

log = logging.getLogger("proctor")

_brought: dict[tuple[str, str], bool] = {}
"""Connections of this process that were made with a run's `runtime_env` -> whether that run is over."""


def connect(address: str, runtime_env: Mapping[str, Any] | None = None) -> Any:
    """Ray, connected to a cluster. Raises InputError where there is none, and where Ray cannot use a `runtime_env`."""
    ray = optional("ray", "workers: {kind: ray}", "ray")
    if address.startswith("ray://"):
        raise InputError(
            f'found the address "{address}" of a Ray client, through which workers cannot be reached; start the run on '
            "a node of the cluster, with the address auto or HOST:PORT"
        )
    if ray.is_initialized() and _brought.get(_connection(ray), False):
        ray.shutdown()
    if not ray.is_initialized():
        env = None if runtime_env is None else _checked(runtime_env)
        _join(ray, address, env)
        if env is not None:
            _brought[_connection(ray)] = False
    return ray


def leave() -> None:
    """The run is over that this process is connected for, if it has brought something."""
    ray = optional("ray", "workers: {kind: ray}", "ray")
    if ray.is_initialized() and _connection(ray) in _brought:
        _brought[_connection(ray)] = True


def actors(ray: Any, kind: type, asked: Mapping[str, Any], runtime_env: Mapping[str, Any] | None) -> Any:
    """The actor class for objects of a kind, which are placed and prepared as asked."""
    brought = runtime_env is None or _connection(ray) in _brought
    more = {} if brought else {"runtime_env": _checked(runtime_env or {})}
    try:
        return ray.remote(kind).options(scheduling_strategy="SPREAD", max_restarts=0, **asked, **more)
    except ValueError as problem:
        raise InputError(
            f"{WHERE}: {problem} This program had connected to Ray before the run began: give folders of this machine "
            "to its ray.init(runtime_env=...)"
        ) from None


def unprepared(problem: Exception) -> str:
    """Why a node could not prepare a `runtime_env`: the node, and the last line of what Ray says."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    nodes = [line.partition("]")[0].removeprefix("[Node ") for line in lines if line.startswith("[Node ")]
    return f"{f'node {nodes[0]}' if nodes else 'a node'} could not prepare {WHERE}: {lines[-1]}"


def _connection(ray: Any) -> tuple[str, str]:
    context = ray.get_runtime_context()
    return context.gcs_address, context.get_job_id()


def _join(ray: Any, address: str, runtime_env: Mapping[str, Any] | None) -> None:
    told = {"address": address, **({"include_dashboard": False} if address == "local" else {})}
    try:
        _knock(address)
        _keep_quiet(ray)
        ray.init(**told, runtime_env=runtime_env, log_to_driver=False, logging_level=logging.WARNING)
    except (ConnectionError, RuntimeError, ValueError, OSError, ray.exceptions.RayError) as problem:
        if _is_about_a_token(problem):
            raise InputError(
                f'the Ray cluster at "{address}" wants a token that it is not shown; put the token of the cluster into '
                "~/.ray/auth_token and say export RAY_AUTH_MODE=token, here and wherever `ray start` is called"
            ) from problem
        raise InputError(
            f'there is no Ray cluster at "{address}" ({str(problem).splitlines()[0]}); start one with `ray start '
            "--head` on this machine and `ray start --address HOST:6379` on the others, or use address: local"
        ) from problem


def _keep_quiet(ray: Any) -> None:
    """Have what Ray tells of lost actors and nodes, a paragraph each, in the log. Ray prints it on standard output,
    which is the run's and may be JSON, and has no switch for it."""
    place = ray._private.worker
    if "print_to_stdstream" in vars(place):
        place.print_to_stdstream = _note


def _note(data: Mapping[str, Any], *_: Any, **__: Any) -> None:
    for text in data["lines"]:
        log.info("Ray: %s", text.strip().partition("\n")[0])


def _is_about_a_token(problem: BaseException | None) -> bool:
    """Ray says only deep inside that it was sent away for that."""
    while problem is not None:
        if "authentication token" in str(problem).lower():
            return True
        problem = problem.__cause__ or problem.__context__
    return False


def _knock(address: str) -> None:
    """Raise OSError where nobody listens at an address: Ray itself would try for long, and then end the process."""
    if address not in ("auto", "local"):
        with socket.create_connection(split_address(address), timeout=KNOCK_S):
            pass


def _checked(runtime_env: Mapping[str, Any]) -> dict[str, Any]:
    """What Ray can use. Raises InputError."""
    from ray.runtime_env import RuntimeEnv

    known = sorted(name for name in RuntimeEnv.known_fields if not name.startswith("_"))
    for name in runtime_env if not os.environ.get(PLUGINS) else ():
        if name not in RuntimeEnv.known_fields:
            hint = did_you_mean(name, known) or f"known are: {', '.join(known)}"
            raise InputError(f'{WHERE}: Ray knows no entry "{name}"; {hint}')
    try:
        RuntimeEnv(**runtime_env)
    except (TypeError, ValueError, KeyError) as problem:
        raise InputError(f"{WHERE}: {problem}") from None
    return dict(runtime_env)
