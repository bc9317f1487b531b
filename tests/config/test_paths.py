"""Which values of a config are paths, and where relative ones start."""

from __future__ import annotations

from pathlib import Path

from proctor.config.paths import Context, resolve_options
from proctor.config.problems import Problems


def test_what_a_suite_says_is_a_place_is_a_path_unless_it_has_a_scheme(tmp_path: Path) -> None:
    context = Context(tmp_path, Problems("test"), frozenset({"robot", "motions"}))
    options = {
        "robot": "models/g1.xml",
        "motions": ["clips/*.csv", "procedural:all", {"path": "dances", "name": "x"}],
        "cache_folder": "cache",
        "success": "phc_mean",
    }
    assert resolve_options(options, ("tasks", 0, "options"), context) == {
        "robot": str(tmp_path / "models" / "g1.xml"),
        "motions": [
            str(tmp_path / "clips" / "*.csv"),
            "procedural:all",
            {"path": str(tmp_path / "dances"), "name": "x"},
        ],
        "cache_folder": str(tmp_path / "cache"),
        "success": "phc_mean",
    }
