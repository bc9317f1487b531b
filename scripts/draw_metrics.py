"""Draw the pictures of docs/tracking-metrics.md: `python scripts/draw_metrics.py [folder]`.

Numbers in a picture come from the metrics themselves, computed of what is drawn."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from proctor.suites.tracking.metrics import Track, tracking_metrics

GREY, BLUE, RED, SOFT = "#66727e", "#0b5fa5", "#c44e00", "#dde3e9"
FOLDER = Path(__file__).parents[1] / "docs" / "images"
Point = tuple[float, float]


def page(width: int, height: int, parts: Iterable[str]) -> str:
    size = f'width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}"'
    paper = f'<rect {size} fill="#fff"/>'
    return "\n".join([f'{head} font-family="sans-serif" font-size="12">', paper, *parts, "</svg>\n"])


def line(a: Point, b: Point, colour: str = GREY, width: float = 1.5, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    ends = f'x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}" stroke-linecap="round"{dashed}/>'


def path(points: Iterable[Point], colour: str, width: float = 2) -> str:
    d = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{d}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"/>'


def dot(at: Point, colour: str, radius: float = 3) -> str:
    return f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius}" fill="{colour}"/>'


def words(at: Point, text: str, colour: str = "#16202a", anchor: str = "start") -> str:
    return f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" fill="{colour}" text-anchor="{anchor}">{text}</text>'


def emd() -> str:
    """A motion that is followed three frames late: far off frame by frame, the same poses as a set."""
    t = np.arange(24)
    reference, agent = np.sin(2 * math.pi * t / 24), np.sin(2 * math.pi * (t - 3) / 24)
    found = tracking_metrics(Track(joint_pos=agent[:, None]), Track(joint_pos=reference[:, None]))
    _, match = linear_sum_assignment(np.abs(agent[:, None] - reference))
    parts: list[str] = []
    for left, pairs, title in (
        (30, t, f"frame by frame: distance {found['distance']:.2f} rad"),
        (370, match, f"as a set of poses: emd {found['emd']:.2f} rad"),
    ):

        def at(i: int, values: np.ndarray, left: int = left) -> Point:
            return left + 12.5 * i, 105 - 65 * float(values[i])

        parts += [line(at(i, agent), at(int(j), reference), RED, 1) for i, j in enumerate(pairs)]
        parts += [path((at(i, values) for i in t), colour) for values, colour in ((reference, GREY), (agent, BLUE))]
        parts += [dot(at(i, values), colour, 2.2) for values, colour in ((reference, GREY), (agent, BLUE)) for i in t]
        parts.append(words((left, 22), title))
    return page(700, 215, [*parts, *legend(30, 202)])


def legend(x: float, y: float) -> list[str]:
    return [
        dot((x, y - 4), GREY, 4), words((x + 9, y), "reference"),
        dot((x + 90, y - 4), BLUE, 4), words((x + 99, y), "agent"),
        line((x + 152, y - 4), (x + 168, y - 4), RED), words((x + 174, y), "compared"),
    ]  # fmt: skip


def proximity() -> str:
    def at(distance: float, value: float) -> Point:
        return 60 + 80 * distance, 160 - 110 * value

    curve = [(d, proximity_of(d)) for d in np.linspace(0, 5, 101)]
    parts = [line(at(0, 0), at(5.2, 0), GREY, 1), line(at(0, 0), at(0, 1.15), GREY, 1)]
    parts += [path((at(*point) for point in curve), BLUE, 2.5)]
    parts += [line(at(d, 0), at(d, proximity_of(d)), RED, 1, "3 3") for d in (2.0, 4.0)]
    parts += [
        words(at(d, -0.15), text, anchor="middle") for d, text in ((2, "bound 2"), (4, "bound + margin 4"), (0, "0"))
    ]
    parts += [words((52, 54), "1", anchor="end"), words((52, 164), "0", anchor="end")]
    return page(520, 200, [*parts, words((60, 26), "proximity of one frame, by its distance in rad (or m)")])


def proximity_of(distance: float) -> float:
    found = tracking_metrics(Track(joint_pos=np.array([[distance]])), Track(joint_pos=np.zeros((1, 1))))["proximity"]
    assert found is not None
    return found


def differences() -> str:
    """Along time, as vel_dist and accel_dist are; and along joints, as the older evaluator took them."""
    parts: list[str] = []
    for left, title, step in ((90, "vel_dist: along time", (1, 0)), (400, "legacy: along joints", (0, 1))):
        centre = {(i, j): (left + 34 * i, 62 + 30 * j) for i in range(6) for j in range(4)}
        parts += [
            line(a, (b[0] - 7 * step[0], b[1] - 7 * step[1]), RED if step[1] else BLUE)
            for (i, j), a in centre.items()
            if (b := centre.get((i + step[0], j + step[1])))
        ]
        parts += [dot(at, GREY, 5) for at in centre.values()] + [words((left - 8, 26), title)]
        parts += [words((left - 18, 66 + 30 * j), f"joint {j + 1}", GREY, "end") for j in range(4)]
        parts += [words((left + 34 * i, 180), f"t{i}", GREY, "middle") for i in range(6)]
    return page(620, 200, parts)


BONES = (("head", "torso"), ("torso", "pelvis"), ("torso", "hand"), ("pelvis", "knee"), ("knee", "foot"))
UPRIGHT = {"head": (0.0, 1.3), "torso": (0.0, 1.1), "pelvis": (0.0, 0.75), "hand": (0.3, 0.85), "knee": (0.1, 0.4),
           "foot": (0.0, 0.0)}  # fmt: skip


def figure(bodies: dict[str, Point], place: Callable[[Point], Point], colour: str) -> list[str]:
    bones = [line(place(bodies[a]), place(bodies[b]), colour, 3) for a, b in BONES]
    return [*bones, *(dot(place(at), colour, 4) for at in bodies.values())]


def leaning(angle: float, root: Point = (0.0, 0.0), height: float = 1.0) -> dict[str, Point]:
    """The figure with everything above the foot turned by `angle` about it, lowered to `height` and moved."""
    c, s = math.cos(angle), math.sin(angle)
    return {name: (root[0] + c * x + s * z, root[1] + height * (c * z - s * x)) for name, (x, z) in UPRIGHT.items()}


def bodies() -> str:
    agent = leaning(0.22, (0.18, 0.0))
    tracks = [Track(body_pos=np.array([[(x, 0, z) for x, z in b.values()]])) for b in (agent, UPRIGHT)]
    found = tracking_metrics(*tracks)
    gaps = {name: math.dist(agent[name], UPRIGHT[name]) for name in agent}
    worst = max(gaps, key=gaps.__getitem__)

    def place(at: Point) -> Point:
        return 110 + 150 * at[0], 235 - 150 * at[1]

    parts = [*figure(UPRIGHT, place, GREY), *figure(agent, place, BLUE)]
    parts += [line(place(agent[n]), place(UPRIGHT[n]), RED, 3 if n == worst else 1.5) for n in agent]
    notes = [
        f"mpjpe_xpos: the mean of the lines, {found['mpjpe_xpos']:.0f} mm",
        f"distance_xpos: all lines as one vector, {found['distance_xpos']:.2f} m",
        f"success_phc_linf_xpos: the longest, {gaps[worst]:.2f} m, within 0.5 m?",
        f"success_phc_mean_xpos: their mean, {np.mean(list(gaps.values())):.2f} m, within 0.5 m?",
    ]
    parts += [words((270, 80 + 30 * i), note) for i, note in enumerate(notes)]
    return page(620, 270, [*parts, *legend(270, 235)])


def posture() -> str:
    scenes = [("upright: leans 30 degrees more", 30, 1.0), ("leans 60 degrees more: not upright", 60, 1.0),
              ("root below half the height: not upright", 0, 0.45)]  # fmt: skip
    parts = [line((20, 230), (690, 230), SOFT, 2)]
    for number, (title, degrees, height) in enumerate(scenes):

        def place(at: Point, left: float = 90 + 235 * number) -> Point:
            return left + 130 * at[0], 230 - 130 * at[1]

        agent = leaning(math.radians(degrees), (0.0, 0.0), height)
        parts += [*figure(UPRIGHT, place, "#b8c1ca"), *figure(agent, place, BLUE)]
        half = 0.5 * UPRIGHT["pelvis"][1]
        parts += [line(place((-0.5, half)), place((0.9, half)), RED, 1, "3 3")]
        parts += [words((30 + 235 * number, 26), title)]
    return page(710, 250, parts)


def poses() -> str:
    agent = leaning(0.35, (0.55, 0.0))

    def place(at: Point) -> Point:
        return 90 + 140 * at[0], 225 - 140 * at[1]

    root, torso = (place(agent["pelvis"]), place(UPRIGHT["pelvis"])), place(agent["pelvis"])
    up = (torso[0], torso[1] - 75)
    parts = [*figure(UPRIGHT, place, GREY), *figure(agent, place, BLUE), line(*root, RED, 2.5)]
    parts += [line(torso, up, GREY, 1.5, "4 3")]
    parts += [
        f'<path d="M{up[0]:.1f} {up[1] + 25:.1f}a50 50 0 0 1 17 3" fill="none" stroke="{RED}" stroke-width="2.5"/>'
    ]
    notes = [
        "root_pos_error_m: how far the root is from the reference's",
        "torso_rot_error_rad: the angle between the torsos",
        "root_rot_error_rad: the same for the root",
    ]
    return page(620, 255, [*parts, *(words((290, 90 + 30 * i), note) for i, note in enumerate(notes))])


def frames() -> str:
    parts = [words((20, 46), "reference"), words((20, 86), "agent")]
    for y, n, colour in ((32, 24, GREY), (72, 15, BLUE)):
        parts += [f'<rect x="{100 + 18 * i}" y="{y}" width="14" height="18" fill="{colour}"/>' for i in range(n)]
    parts += [line((368, 22), (368, 104), RED, 1.5, "4 3"), words((100, 124), "frames_compared 15"),
              words((378, 124), "frames_cut 9")]  # fmt: skip
    return page(560, 140, parts)


PICTURES: dict[str, Callable[[], str]] = {
    "tracking-emd.svg": emd,
    "tracking-proximity.svg": proximity,
    "tracking-differences.svg": differences,
    "tracking-bodies.svg": bodies,
    "tracking-poses.svg": poses,
    "tracking-posture.svg": posture,
    "tracking-frames.svg": frames,
}


def main(folder: Path = FOLDER) -> None:
    for name, draw in PICTURES.items():
        (folder / name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:2]))
