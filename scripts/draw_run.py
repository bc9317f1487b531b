"""Draw the picture at the top of the README: a terminal with the three-line call and what it prints.

python scripts/draw_run.py

Writes docs/images/evaluate.png: rich draws what a terminal shows, chromium takes the picture.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

import proctor

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
CALL = """\
import proctor

run = proctor.evaluate({"lean": lean, "network": "cartpole.onnx"}, "CartPole-v1", n=100, success=475)
print(run)"""
WIDTH, SCALE = 104, 2


def lean(observation):
    return int(observation[2] + observation[3] > 0)


def main() -> None:
    agents = {"lean": lean, "network": str(ROOT / "examples/checkpoints/cartpole.onnx")}
    out = Console(record=True, width=WIDTH, file=io.StringIO(), highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        run = proctor.evaluate(agents, "CartPole-v1", n=100, success=475, out=folder, progress=False)
        out.print(Syntax(CALL, "python", background_color="default"))
        *parts, _ = run.__rich__().renderables
        out.print(*parts, Text(f"results/eval_runs/{run.path.name}", style="dim"), sep="\n")
    photograph(out.export_svg(title="proctor.evaluate"), IMAGES / "evaluate.png")


def photograph(svg: str, path: Path) -> None:
    """An SVG as PNG."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("the picture is taken by chromium, which is not installed")
    width, height = (int(float(side)) for side in svg.partition('viewBox="0 0 ')[2].partition('"')[0].split())
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        page.write_text(f'<body style="margin:0">{svg}</body>')
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},{height}"]
        shot = [f"--force-device-scale-factor={SCALE}", f"--screenshot={path}", page.as_uri()]
        subprocess.run([*command, *shot], check=True, capture_output=True)
    print(path)


if __name__ == "__main__":
    main()
