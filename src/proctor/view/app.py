"""The viewer's server: what each address answers.

`/api/...` gives JSON, or arrays; `/runs/NAME/files/...` files of a run; `/pages/...` whole pages that other verbs make,
in which nothing runs. Every other address gets the one page of the viewer, whose modules are in `static/`. Whatever
takes time is done in a thread.
"""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import AsyncIterator, Callable
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from proctor.errors import InputError
from proctor.record.opening import reading_only
from proctor.view import scene, series, summary, table, trial
from proctor.view.guard import INERT, Guard
from proctor.view.pages import Pages
from proctor.view.places import Places
from proctor.view.snapshot import Snapshot, Snapshots, signature_of
from proctor.view.watching import watched

T = TypeVar("T")
STATIC = resources.files("proctor.view") / "static"
KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
log = logging.getLogger(__name__)


class Viewer:
    """What the answers are made of."""

    def __init__(self, places: Places, *, trust: bool = False):
        self.places = places
        self.snapshots, self.pages = Snapshots(trust=trust), Pages(trust=trust)
        self._briefs: dict[Path, tuple[Any, dict[str, Any]]] = {}

    def snapshot(self, name: str) -> Snapshot:
        return self.snapshots.of(self.places.run(name))

    # Lists ------------------------------------------------------------------------------------------------------------

    def runs(self) -> dict[str, Any]:
        """Every run below the folders; one that cannot be read has a sentence in place of its numbers."""
        found = [{"id": name, "path": str(path), **self._brief(path)} for name, path in self.places.runs().items()]
        pages = [{"id": page.name, "kind": page.kind, "where": page.where} for page in self.places.pages().values()]
        return {"folders": [str(folder) for folder in self.places.folders], "runs": found, "pages": pages}

    def _brief(self, path: Path) -> dict[str, Any]:
        try:
            signature = signature_of(path), (path / "lock").stat().st_mtime_ns if (path / "lock").exists() else 0
            known = self._briefs.get(path)
            if known is None or known[0] != signature or known[1].get("state") in ("running", "quiet"):
                self._briefs[path] = known = signature, summary.brief(self.snapshots.of(path))
            return known[1]
        except Exception as error:
            if not isinstance(error, InputError):
                log.exception("the run %s cannot be read", path)
            return {"state": "unreadable", "why": str(error)}

    # One run ----------------------------------------------------------------------------------------------------------

    def run(self, name: str) -> dict[str, Any]:
        return {"id": name, **summary.whole(self.snapshot(name))}

    def report(self, name: str) -> dict[str, Any]:
        return self.pages.report(self.snapshot(name))

    def trials(self, name: str, given: list[tuple[str, str]]) -> dict[str, Any]:
        one = dict(given)
        shown = tuple(value for key, value in given if key == "show")
        offset, limit = _whole(one.get("offset"), 0), _whole(one.get("limit"), table.PAGE)
        return table.page(self.snapshot(name), table.Query.of(given), offset, limit, shown)

    def trial(self, name: str, given: list[tuple[str, str]]) -> dict[str, Any]:
        return trial.trial_keys(self.snapshot(name), _key(given), table.Query.of(given))


def _whole(text: str | None, otherwise: int) -> int:
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else otherwise


def _key(given: list[tuple[str, str]]) -> str:
    found = dict(given).get("trial")
    if found is None:
        raise InputError("say which trial: ?trial=AGENT/TASK/INDEX")
    return found


async def _aside(make: Callable[[], T]) -> T:
    """In a thread, where ledgers are read from copies."""

    def work() -> T:
        with reading_only():
            return make()

    return await anyio.to_thread.run_sync(work)


def _answering(make: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """A route whose answer is made by `make`; what it cannot give is said in a sentence."""

    @functools.wraps(make)
    async def route(request: Request) -> Response:
        try:
            return await make(request)
        except InputError as error:
            return JSONResponse({"error": str(error)}, 404)
        except Exception as error:
            log.exception("%s", request.url.path)
            return JSONResponse({"error": f"the viewer failed: {type(error).__name__}: {error}"}, 500)

    return route


def _routes(viewer: Viewer) -> list[Route]:
    def data(make: Callable[[str, list[tuple[str, str]]], Any]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            name, given = request.path_params.get("run", ""), request.query_params.multi_items()
            return _json(await _aside(lambda: make(name, given)))

        return _answering(answer)

    def block(make: Callable[[str, str], bytes]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            name, key = request.path_params["run"], _key(request.query_params.multi_items())
            return Response(await _aside(lambda: make(name, key)), media_type="application/octet-stream")

        return _answering(answer)

    async def events(request: Request) -> Response:
        name = request.path_params["run"]
        await _aside(lambda: viewer.places.run(name))
        stream: AsyncIterator[bytes] = watched(viewer, name, _aside)
        return StreamingResponse(stream, media_type="text/event-stream")

    async def file(request: Request) -> Response:
        name, path = request.path_params["run"], request.path_params["path"]
        if path == "report.html":  # as of now, and beside the films and pictures that it shows
            return _inert(await _aside(lambda: viewer.pages.report_html(viewer.snapshot(name))))
        return _file(await _aside(lambda: viewer.places.file(name, path)))

    async def page(request: Request) -> Response:
        return _inert(await _aside(lambda: _page(viewer, request)))

    get = ["GET"]
    return [
        Route("/api/runs", data(lambda _, __: viewer.runs()), methods=get),
        Route("/api/runs/{run}", data(lambda run, _: viewer.run(run)), methods=get),
        Route("/api/runs/{run}/report", data(lambda run, _: viewer.report(run)), methods=get),
        Route("/api/runs/{run}/columns", data(lambda run, _: table.described(viewer.snapshot(run))), methods=get),
        Route("/api/runs/{run}/trials", data(viewer.trials), methods=get),
        Route("/api/runs/{run}/trial", data(viewer.trial), methods=get),
        Route("/api/runs/{run}/series", block(lambda run, key: series.packed(viewer.snapshot(run), key)), methods=get),
        Route("/api/runs/{run}/scene", block(lambda run, key: scene.packed(viewer.snapshot(run), key)), methods=get),
        Route("/api/runs/{run}/events", _answering(events), methods=get),
        Route("/runs/{run}/files/{path:path}", _answering(file), methods=get),
        Route("/pages/{kind}", _answering(page), methods=get),
        Route("/static/{path:path}", _static, methods=get),
        Route("/{path:path}", _shell, methods=get),
    ]


def _page(viewer: Viewer, request: Request) -> str | Path:
    """A whole page by its kind."""
    kind, given = request.path_params["kind"], request.query_params
    names = list(dict.fromkeys(given.getlist("run")))
    if kind == "compare":
        return viewer.pages.comparison([viewer.places.run(name) for name in names], across=given.get("across") == "1")
    if kind == "leaderboard":
        return viewer.pages.leaderboard([viewer.places.run(name) for name in names])
    found = viewer.places.pages().get(given.get("page", "")) if kind == "file" else None
    if found is None or found.path.is_symlink() or not found.path.is_file():
        raise InputError("there is no such page")
    return found.path


def _json(data: Any) -> Response:
    return Response(json.dumps(data, allow_nan=False, separators=(",", ":")), media_type="application/json")


def _inert(page: str | Path) -> Response:
    """A page in which nothing runs."""
    text = page.read_text(encoding="utf-8", errors="replace") if isinstance(page, Path) else page
    return HTMLResponse(text, headers={"Content-Security-Policy": INERT})


def _file(path: Path) -> Response:
    """A file of a run: films play in place, anything else is downloaded."""
    shown = {".mp4": "video/mp4", ".webm": "video/webm", ".png": "image/png", ".jpg": "image/jpeg"}.get(path.suffix)
    if shown is not None:
        return FileResponse(path, media_type=shown, headers={"Content-Security-Policy": INERT})
    return FileResponse(path, media_type="application/octet-stream", filename=path.name)


async def _static(request: Request) -> Response:
    """A file of the viewer's own."""
    name: str = request.path_params["path"]
    parts = name.split("/")
    place = STATIC.joinpath(*parts)
    if any(part in ("", ".", "..") for part in parts) or Path(name).suffix not in KINDS or not place.is_file():
        return JSONResponse({"error": "there is no such file"}, 404)
    headers = {"Cache-Control": "no-cache"}
    return Response(place.read_bytes(), media_type=KINDS[Path(name).suffix], headers=headers)


async def _shell(request: Request) -> Response:
    """The one page of the viewer."""
    if request.url.path.startswith(("/api/", "/runs/", "/pages/")):
        return JSONResponse({"error": "there is no such address"}, 404)
    return HTMLResponse((STATIC / "index.html").read_text(encoding="utf-8"))


class _Packing(GZipMiddleware):
    """Packs answers, but not films, of which browsers ask parts, and not events, which must not wait."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path: str = scope.get("path", "")
        if scope["type"] == "http" and ("/files/" in path or path.endswith("/events")):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def make_app(places: Places, *, token: str | None = None, trust: bool = False) -> Any:
    """The ASGI application. `token` None: for loopback addresses."""
    viewer = Viewer(places, trust=trust)
    app: Any = Starlette(routes=_routes(viewer))
    app.state.viewer = viewer
    return Guard(_Packing(app, minimum_size=2000, compresslevel=3), token)
