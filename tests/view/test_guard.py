"""Who is answered: this machine's own pages, or whoever has the token. Nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from viewing import viewer

pytest.importorskip("starlette", reason="the extra `view` is not installed")
pytest.importorskip("uvicorn", reason="the extra `view` is not installed")


def test_a_page_of_another_origin_is_refused(tmp_path: Path) -> None:
    with viewer(tmp_path) as served:
        assert served.ask("/api/runs").status == 200
        assert served.ask("/api/runs", Origin=served.url).status == 200
        assert served.ask("/api/runs", Origin="http://evil.example").status == 403
        assert served.ask("/api/runs", Origin="null").status == 403
        assert served.ask("/api/runs", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors").status == 403
        assert served.ask("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_made_up_name_for_this_machine_is_refused(tmp_path: Path, host: str) -> None:
    with viewer(tmp_path) as served:
        answer = served.ask("/api/runs", Host=host)
        assert answer.status in (400, 403)
        for name in ("localhost", "127.0.0.1", "[::1]"):
            assert served.ask("/api/runs", Host=f"{name}:{served.port}").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_only_reading_is_answered(tmp_path: Path, method: str) -> None:
    with viewer(tmp_path) as served:
        assert served.ask("/api/runs", method).status == 405


def test_with_a_token_nothing_is_told_without_it(tmp_path: Path) -> None:
    with viewer(tmp_path, token="right") as served:
        for path in ("/", "/api/runs", "/static/main.js", "/?token=wrong"):
            answer = served.ask(path)
            assert (answer.status, b"asks for a token" in answer.body) == (401, True)
        assert served.ask("/api/runs", Authorization="Bearer right").status == 200
        assert served.ask("/api/runs", Authorization="Bearer wrong").status == 401
        assert served.ask("/api/runs", Cookie="proctor_view=wrong").status == 401
        greeted = served.ask("/run/x?a=1&token=right")
        assert (greeted.status, greeted.getheader("location")) == (303, "/run/x?a=1")
        cookie = greeted.getheader("set-cookie") or ""
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert served.ask("/api/runs", Cookie=cookie.partition(";")[0]).status == 200
        assert served.ask("/api/runs", Cookie=cookie.partition(";")[0], Host="evil.example").status == 200  # it has it


def test_the_way_back_leads_nowhere_else(tmp_path: Path) -> None:
    with viewer(tmp_path, token="right") as served:
        for path in ("//evil.example/?token=right", "/\\evil.example?token=right", "/%5Cevil.example?token=right"):
            place = served.ask(path).getheader("location") or ""
            assert place.startswith("/")
            assert not place.startswith(("//", "/\\"))


def test_every_answer_says_what_a_browser_may_do(tmp_path: Path) -> None:
    with viewer(tmp_path) as served:
        for path in ("/", "/api/runs", "/static/main.js", "/api/runs/none", "/nowhere"):
            headers = served.ask(path).headers
            assert "script-src 'self'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/..%2fapp.py", "/static/vendor/three.LICENSE", "/static/"]
)
def test_of_the_viewer_itself_only_its_pages_are_served(tmp_path: Path, path: str) -> None:
    with viewer(tmp_path) as served:
        assert served.ask(path).status == 404 or served.ask(path).getheader("content-type", "").startswith("text/html")
        assert b"def make_app" not in served.ask(path).body
