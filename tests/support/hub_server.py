"""A hub on loopback that speaks what huggingface_hub asks of the real one: files at a revision, their listing, commits
of branches, and the refusals. Every request's path and Authorization header are kept."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


@dataclass
class Hub:
    """`repos`: name -> commit -> path -> bytes; `branches`: name -> branch -> commit."""

    repos: dict[str, dict[str, dict[str, bytes]]] = field(default_factory=dict)
    branches: dict[str, dict[str, str]] = field(default_factory=dict)
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Name of a repository -> status and X-Error-Code of every answer about it."""
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""

    def commit(self, repo: str, files: dict[str, bytes], branch: str = "main") -> str:
        """A new commit that a branch leads to; its hash."""
        told = json.dumps({name: data.hex() for name, data in sorted(files.items())})
        sha = hashlib.sha1(told.encode()).hexdigest()
        self.repos.setdefault(repo, {})[sha] = files
        self.branches.setdefault(repo, {})[branch] = sha
        return sha

    def find(self, repo: str, revision: str) -> tuple[int, str, str]:
        """Status, error code and commit."""
        if repo in self.refused:
            return (*self.refused[repo], "")
        if repo not in self.repos:
            return 404, "RepoNotFound", ""
        sha = self.branches[repo].get(revision, revision)
        return (200, "", sha) if sha in self.repos[repo] else (404, "RevisionNotFound", "")


@contextlib.contextmanager
def serving() -> Iterator[Hub]:
    """A hub that answers at `hub.url` until the block is left."""
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(self.path).partition("?")[0].strip("/")
            hub.requests.append((path, self.headers.get("Authorization")))
            if path.startswith("api/models/"):
                self._listing(path.removeprefix("api/models/"))
            else:
                repo, _, rest = path.partition("/resolve/")
                revision, _, name = rest.partition("/")
                self._file(repo, revision, name)

        do_HEAD = do_GET

        def _listing(self, path: str) -> None:
            repo = "/".join(path.split("/")[:2])
            kind, _, revision = path.removeprefix(repo).strip("/").partition("/")
            status, code, sha = hub.find(repo, revision or "main")
            if status != 200:
                return self._answer(status, b"", {"X-Error-Code": code})
            files = hub.repos[repo][sha]
            if kind == "tree":
                told = [{"type": "file", "path": p, "size": len(d), "oid": _etag(d)} for p, d in files.items()]
            else:
                told = {"id": repo, "sha": sha, "siblings": [{"rfilename": name} for name in files]}
            return self._answer(200, json.dumps(told).encode(), {"Content-Type": "application/json"})

        def _file(self, repo: str, revision: str, name: str) -> None:
            status, code, sha = hub.find(repo, revision)
            data = hub.repos[repo][sha].get(name) if status == 200 else None
            if data is None:
                code, status = ("EntryNotFound", 404) if status == 200 else (code, status)
                return self._answer(status, b"", {"X-Error-Code": code} if code else {})
            return self._answer(200, data, {"ETag": f'"{_etag(data)}"', "X-Repo-Commit": sha})

        def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _etag(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()
