"""Who may ask, and what a browser may do with the answer.

Only GET and HEAD. On a loopback address the `Host` must be a name of this machine, so that no page elsewhere reaches
the server by a name that it makes up; on any other address a token is asked for. A request that another origin's page
makes is refused. Pages may load scripts, styles, pictures and data from this server alone.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

COOKIE = "proctor_view"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self'; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
INERT = (
    "sandbox allow-same-origin allow-downloads; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; "
    "media-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""For pages that are somebody's file: nothing in them runs."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Guard:
    """An ASGI application around another one. `token` None: none is asked for, and only names of this machine are
    taken for the host."""

    def __init__(self, app: Any, token: str | None):
        self._app, self._token = app, token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refused(scope["method"], headers)
        if refused is not None:
            await _answer(send, *refused)
            return
        if self._token is not None and not self._known(headers):
            await self._greet(scope, send)
            return
        await self._app(scope, receive, _with_headers(send))

    def _refused(self, method: str, headers: Mapping[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if method not in ("GET", "HEAD"):
            return 405, "The viewer only reads: GET and HEAD are answered."
        if self._token is None and _name(host) not in LOOPBACK:
            return 403, f'The host "{host[:80]}" is no name of this machine. Open the address that was printed.'
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return 403, "A page of another origin asked. Open the viewer's own page."
        cross = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if cross and headers.get("sec-fetch-mode") != "navigate":
            return 403, "A page of another site asked. Open the viewer's own page."
        return None

    def _known(self, headers: Mapping[str, str]) -> bool:
        given = headers.get("authorization", "").removeprefix("Bearer ")
        return self._is_token(given) or self._is_token(_cookie(headers.get("cookie", "")))

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), (self._token or "").encode())

    async def _greet(self, scope: Any, send: Any) -> None:
        """The token in the address is exchanged for a cookie, so that it stays in no history."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == "token"), "")
        if not self._is_token(given):
            await _answer(
                send, 401, "This viewer asks for a token. Open the address that was printed where it started."
            )
            return
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        place = "/" + quote(scope["path"].lstrip("/")) + (f"?{rest}" if rest else "")
        cookie = f"{COOKIE}={given}; HttpOnly; SameSite=Strict; Path=/"
        await _answer(send, 303, "", {"Location": place, "Set-Cookie": cookie})


def _name(host: str) -> str:
    """A host without its port."""
    return host if host.endswith("]") else host.rpartition(":")[0] or host


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _with_headers(send: Any) -> Any:
    """Adds the headers that an answer does not have of its own."""

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message["headers"] = [*message["headers"], *((name, value) for name, value in more if name not in own)]
        await send(message)

    return sending


async def _answer(send: Any, status: int, text: str, more: Mapping[str, str] | None = None) -> None:
    headers = {**HEADERS, "Content-Type": "text/plain; charset=utf-8", **(more or {})}
    listed = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": text.encode()})
