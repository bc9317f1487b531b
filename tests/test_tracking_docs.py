"""The page on tracking metrics: every metric with unit and direction, every option, pictures that are drawn."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from proctor.metrics import describe
from proctor.suites.tracking.metrics import TrackOptions
from proctor.suites.tracking.parts import METRICS
from proctor.suites.tracking.scoring import TrackingV1Options

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "tracking-metrics.md").read_text()
ARROWS = {"up": "↑", "down": "↓", "none": "–"}


@pytest.fixture
def drawing() -> Any:
    spec = importlib.util.spec_from_file_location("draw_metrics", ROOT / "scripts" / "draw_metrics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_row_with_its_unit_and_direction(name: str) -> None:
    info = next(info for info in describe() if info.name == name)
    row = re.search(rf"^\| `{name}` \| .+ \| ([^|]+) \| (.) \|$", PAGE, re.MULTILINE)
    assert row is not None
    assert row[1] == info.unit.replace("^2", "²")
    assert row[2] == ARROWS[info.direction]


def test_every_option_is_there() -> None:
    scoring = (ROOT / "docs" / "scoring.md").read_text()
    assert all(f"`{field.name}`" in PAGE for field in fields(TrackOptions))
    assert all(name in scoring for name in TrackingV1Options.model_fields)


def test_the_python_example_runs() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    found: dict[str, Any] = {}
    exec(code, found)
    assert found["values"]["emd"] == pytest.approx(0.1 * 29**0.5)
    assert found["log"]["emd#std"] == pytest.approx(0, abs=1e-12)
    assert len(found["motions"]) == 8


def test_pictures_are_those_that_the_script_draws(drawing: Any) -> None:
    for name, draw in drawing.PICTURES.items():
        assert (ROOT / "docs" / "images" / name).read_text() == draw(), f"run python scripts/draw_metrics.py ({name})"
        assert f"(images/{name})" in PAGE
