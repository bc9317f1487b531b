"""The libraries that are shipped are those that THIRD_PARTY.md names, with their licences."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
VENDOR = ROOT / "src" / "proctor" / "view" / "static" / "vendor"
ROW = re.compile(r"\| `(\S+)` \| .*? \| MIT, `(\S+)` \| `([0-9a-f]{64})` \|")


def test_every_file_is_listed_with_its_hash_and_licence() -> None:
    listed = {name: (licence, digest) for name, licence, digest in ROW.findall((ROOT / "THIRD_PARTY.md").read_text())}
    files = {path.name for path in VENDOR.iterdir()}
    assert files == set(listed) | {licence for licence, _ in listed.values()}
    for name, (licence, digest) in listed.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest
        assert "Permission is hereby granted, free of charge" in (VENDOR / licence).read_text()


def test_the_versions_are_those_of_the_script() -> None:
    script, listed = ((ROOT / name).read_text() for name in ("scripts/vendor_view.sh", "THIRD_PARTY.md"))
    for name in ("three", "uplot"):
        (version,) = re.findall(rf"\b{name}=(\S+)", script)
        assert f"npmjs.com/package/{name}) {version}" in listed


def test_no_page_of_the_viewer_names_another_server() -> None:
    for path in VENDOR.parent.glob("*.*"):
        found = re.findall(r"(?:https?:)?//[a-z][\w.-]+\.[a-z]{2,}", path.read_text())
        assert [url for url in found if "www.w3.org" not in url] == [], path.name
