"""A Weights & Biases server on loopback with one artifact: the few questions of its GraphQL that the package asks to
find and download an artifact, and the files themselves."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WHEN = "2026-01-01T00:00:00Z"


@dataclass
class Artifacts:
    """`versions`: the files of each version of the artifact ENTITY/PROJECT/NAME; `latest` leads to the last one."""

    entity: str
    project: str
    name: str
    versions: list[dict[str, bytes]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def answer(self, operation: str, given: dict[str, Any]) -> dict[str, Any]:
        if operation in ("Viewer", "GetDefaultEntity"):
            teams = {"edges": [{"node": {"name": self.entity}}]}
            return {"viewer": {"id": "u", "entity": self.entity, "username": "u", "flags": "{}", "teams": teams}}
        if operation == "ArtifactMembershipByName":
            known = (given["entity"], given["project"]) == (self.entity, self.project)
            return {"project": {"artifactCollectionMembership": self._membership(given["name"])} if known else None}
        if operation == "FetchArtifactManifest":
            link = {"directUrl": f"{self.url}/manifest/{given['id']}"}
            return {"artifact": {"currentManifest": {"file": link}}}
        if operation == "GetArtifactMembershipFileUrls":
            version = int(given["alias"].removeprefix("v"))
            nodes = [
                {"node": {"__typename": "File", "name": name, "directUrl": f"{self.url}/file/{version}/{name}"}}
                for name in self.versions[version]
            ]
            page = {"__typename": "PageInfo", "endCursor": None, "hasNextPage": False}
            membership = {"files": {"pageInfo": page, "edges": nodes}}
            collection = {"__typename": "ArtifactSequence", "artifactMembership": membership}
            return {"project": {"artifactCollection": collection}}
        return {}

    def manifest(self, version: int) -> dict[str, Any]:
        contents = {
            name: {"digest": base64.b64encode(hashlib.md5(data).digest()).decode(), "size": len(data)}
            for name, data in self.versions[version].items()
        }
        policy = {"storagePolicy": "wandb-storage-policy-v1", "storagePolicyConfig": {"storageLayout": "V1"}}
        return {"version": 1, **policy, "contents": contents}

    def file(self, digest: str) -> bytes | None:
        return next((d for v in self.versions for d in v.values() if hashlib.md5(d).hexdigest() == digest), None)

    def _membership(self, text: str) -> dict[str, Any] | None:
        name, _, alias = text.partition(":")
        last = len(self.versions) - 1
        version = last if alias == "latest" else int(alias[1:]) if alias[1:].isdigit() else -1
        if name != self.name or not 0 <= version <= last:
            return None
        project = {"id": "p", "internalId": "p", "name": self.project, "entity": {"name": self.entity}}
        home = {"__typename": "ArtifactSequence", "name": self.name, "project": project}
        artifact = {
            "__typename": "Artifact", "id": str(version), "artifactSequence": home, "versionIndex": version,
            "artifactType": {"name": "model"}, "description": None, "metadata": "{}", "ttlDurationSeconds": -1,
            "ttlIsInherited": False, "tags": [], "historyStep": None, "state": "COMMITTED", "size": 1, "digest": "d",
            "commitHash": "c", "fileCount": 1, "createdAt": WHEN, "updatedAt": None, "aliases": [],
        }  # fmt: skip
        return {
            "__typename": "ArtifactCollectionMembership", "id": f"m{version}", "versionIndex": version,
            "createdAt": WHEN, "aliases": [], "artifactCollection": home, "artifact": artifact,
        }  # fmt: skip


@contextlib.contextmanager
def serving(entity: str, project: str, name: str) -> Iterator[Artifacts]:
    """The server, at `url`, until the block is left."""
    artifacts = Artifacts(entity, project, name)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            operation = asked.get("operationName") or asked["query"].split("{")[0].split("(")[0].split()[-1]
            artifacts.asked.append(operation)
            data = artifacts.answer(operation, asked.get("variables") or {})
            self._send(json.dumps({"data": data}).encode())

        def do_GET(self) -> None:
            artifacts.asked.append(self.path)
            kind, _, rest = self.path.strip("/").partition("/")
            if kind == "manifest":
                self._send(json.dumps(artifacts.manifest(int(rest))).encode())
            elif kind == "file":
                version, _, name = rest.partition("/")
                self._send(artifacts.versions[int(version)][name])
            else:
                self._send(artifacts.file(rest.split("/")[-1]))

        def _send(self, body: bytes | None) -> None:
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    artifacts.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield artifacts
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
