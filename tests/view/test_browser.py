"""The viewer in a real browser: Debian's chromium, wide and narrow, light and dark, with the keyboard alone."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import CHROMIUM, NARROW, WIDE, Window
from examining import examination
from viewing import Served, large_run, starting, until, viewer

from proctor import Run, config_from_dict, run_evaluation
from proctor.report import text
from proctor.runs.import_outcomes import ImportOptions, import_outcomes

for package in ("starlette", "uvicorn"):
    pytest.importorskip(package, reason="the extra `view` is not installed")
pytest.importorskip("playwright.sync_api", reason="the extra `dev` is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")
MARKUP = '<img src=x onerror="alert(1)">'
TRIALS = 100_000


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Films of a pole on a cart, and an agent whose name is markup."""
    pytest.importorskip("av", reason="the extra `video` is not installed")
    options = {"id": "CartPole-v1", "success": {"terminated": False}}
    tasks = [{"suite": "gymnasium", "name": name, "options": options} for name in ("cartpole", "again")]
    agents = [{"policy": "random"}, {"policy": "zero"}, {"name": MARKUP, "policy": "random"}]
    record = {"level": "video", "video": {"trials": "all", "every": 4}}
    keys = {"tasks": tasks, "agents": agents, "n_trials": 2, "record": record, "name": f"shown {MARKUP}"}
    found = config_from_dict(examination(tmp_path_factory.mktemp("runs"), **keys, max_episode_steps=60))
    return run_evaluation(found)


@pytest.fixture(scope="module")
def poses(run: Run) -> Run:
    """Poses of a pole in MuJoCo."""
    tasks = [{"suite": "gymnasium", "name": "pole", "options": {"id": "InvertedPendulum-v5"}}]
    keys = {
        "tasks": tasks,
        "agents": [{"policy": "random"}],
        "n_trials": 1,
        "record": {"states": True},
        "name": "poses",
    }
    return run_evaluation(config_from_dict(examination(run.path.parent, **keys, scoring="return")))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large_run(tmp_path_factory.mktemp("large"), TRIALS)


@pytest.fixture(scope="module")
def served(run: Run, poses: Run, large: Path) -> Iterator[Served]:
    with viewer(run.path.parent, large.parent) as found:
        yield found


@pytest.fixture
def window(browser: Any, served: Served) -> Iterator[Window]:
    found = Window(browser, served.url, WIDE)
    yield found
    found.context.close()
    assert found.wrong == []


def pages_of(run: Run, poses: Run, large: Path) -> dict[str, str]:
    """Every kind of page, and what must be seen there."""
    own = f"/run/{run.path.name}"
    trial = "trial=zero/cartpole/0000"
    return {
        "/": "Runs",
        own: "Agents",
        f"{own}/trials": "12 trials of 12",
        f"{own}/trials?grid=1&filmed=1": "Play all together",
        f"{own}/trial?{trial}": "Signals",
        f"/run/{poses.path.name}/trial?trial=random/pole/0000": "Signals",
        f"/run/{poses.path.name}": "Agents",
        f"{own}/side?{trial}&trial=random/cartpole/0000": "Side by side",
        f"/run/{large.name}": "Agents and tasks",
        f"/run/{large.name}/trials": f"{TRIALS:,} trials of {TRIALS:,}",
    }


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_every_page_fits_and_nothing_goes_wrong(
    browser: Any, served: Served, run: Run, poses: Run, large: Path, size: dict[str, int]
) -> None:
    """By day and by night."""
    window = Window(browser, served.url, size)
    for path, seen in pages_of(run, poses, large).items():
        page = window.open(path)
        page.get_by_text(seen, exact=False).first.wait_for()
        assert page.locator("h1").count() == 1, path
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0, path
            light = page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
            assert light is (scheme == "light")
    window.context.close()
    assert window.wrong == []


def test_a_table_that_is_cut_says_that_it_scrolls(browser: Any, served: Served, run: Run, poses: Run) -> None:
    for size, cut in ((NARROW, True), (WIDE, False)):
        window = Window(browser, served.url, size)
        page = window.open(f"/run/{run.path.name}/trials")
        page.locator("table.trials").wait_for()
        page.get_by_text("scrolls sideways").wait_for(state="visible" if cut else "hidden")
        page = window.open(f"/run/{run.path.name}")
        page.evaluate("() => { document.querySelector('table.agents').style.width = '3000px'; }")
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
        page = window.open(f"/run/{poses.path.name}/trial?trial=random/pole/0000")
        page.evaluate("() => { document.querySelector('.metrics td').textContent = 'long_name_'.repeat(9); }")
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
        window.context.close()


def test_the_key_for_films_does_what_the_button_does(window: Window, run: Run) -> None:
    page = window.open(f"/run/{run.path.name}/trials?agent=zero")
    page.get_by_role("button", name="Films (4)").click()
    page.locator(".grid video").nth(3).wait_for()
    clicked = window.here()
    assert "filmed=1" in clicked
    page.locator("h1").click()
    page.keyboard.press("v")
    page.locator("table.trials").wait_for()
    assert window.here() == f"/run/{run.path.name}/trials?agent=zero"
    page.keyboard.press("v")
    page.locator(".grid video").nth(3).wait_for()
    assert window.here() == clicked
    page.get_by_role("button", name="Films (4)", pressed=True).wait_for()
    page.locator("form select[name=agent]").select_option("")
    page.get_by_role("button", name="Films (12)").wait_for()


def test_two_trials_of_one_agent_are_told_apart(window: Window, run: Run) -> None:
    one, two, other = "zero/cartpole/0000", "zero/cartpole/0001", "random/cartpole/0000"
    page = window.open(f"/run/{run.path.name}/side?trial={one}&trial={two}")
    assert page.locator("details thead th.num").all_inner_texts() == [one, two]
    said = page.locator(".plot[data-signal=rewards] .values span")
    said.first.wait_for()
    assert [words.rpartition(" ")[0] for words in said.all_inner_texts()] == [one, two]
    page = window.open(f"/run/{run.path.name}/side?trial={one}&trial={other}")
    assert page.locator("details thead th.num").all_inner_texts() == ["zero", "random"]


def test_keys_work_after_a_run_was_ticked(window: Window, run: Run) -> None:
    page = window.open("/")
    page.get_by_label(f"choose {run.path.name}").check()
    page.keyboard.press("Space")
    assert not page.get_by_label(f"choose {run.path.name}").is_checked()
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()


def test_words_in_the_heads_of_tasks_stay_whole(browser: Any, served: Served, run: Run) -> None:
    window = Window(browser, served.url, NARROW)
    page = window.open(f"/run/{run.path.name}")
    lines = """() => { const sub = document.querySelector('.heat thead .sub');
        sub.textContent = 'endovascular'.repeat(3);
        const all = document.createRange(); all.selectNodeContents(sub); return all.getClientRects().length; }"""
    assert page.evaluate(lines) == 1
    window.context.close()


def test_a_vessel_is_seen_whole_and_the_caption_is_below(browser: Any, tmp_path: Path) -> None:
    from PIL import Image

    keys = {"agents": [{"policy": "random"}], "tasks": [{"suite": "endovascular", "name": "vessel"}], "n_trials": 1}
    own = run_evaluation(config_from_dict(examination(tmp_path, **keys, max_episode_steps=5)))
    with viewer(tmp_path) as served:
        window = Window(browser, served.url, WIDE)
        page = window.open(f"/run/{own.path.name}/trial?trial=random/vessel/0000")
        page.locator(".stage[data-kind=wire] canvas[data-drawn='5']").wait_for()
        canvas, caption = page.locator(".stage canvas"), page.locator(".stage .hint")
        box = canvas.bounding_box()
        assert caption.bounding_box()["y"] >= box["y"] + box["height"] - 1
        picture = Image.open(io.BytesIO(canvas.screenshot())).convert("RGB")
        wide, tall = picture.width * 6 // 10, picture.height
        assert len(picture.getcolors(10**6)) > 50
        for row in (2, tall - 3):
            assert len(picture.crop((10, row, wide, row + 1)).getcolors(10**6)) == 1, "the vessel is cut"
        window.context.close()
        assert window.wrong == []


def test_shares_are_written_as_the_report_writes_them(window: Window) -> None:
    page = window.open("/")
    shares = sorted({k / n for n in (1, 3, 7, 8, 40, 200, 400, 2000) for k in range(n + 1)})
    said = page.evaluate("async (shares) => shares.map((await import('/static/dom.js')).percent)", shares)
    assert said == [text.percent(share) for share in shares]
    assert text.percent(5 / 8) == "62 %"


def test_failures_one_by_one_with_the_keyboard_alone(window: Window, run: Run) -> None:
    page = window.open("/")
    page.keyboard.press("/")
    page.keyboard.type("shown")
    page.keyboard.press("Escape")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.textContent").startswith("shown"):
            break
    page.keyboard.press("Enter")
    page.locator("#agents table").wait_for()
    page.keyboard.press("f")
    page.locator("p[data-found]").wait_for()
    found = int(page.locator("p[data-found]").get_attribute("data-found"))
    failed = [r for r in run.results() if r.outcome.value in ("failure", "truncated")]
    assert found == len(failed) > 2
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.locator("h1", has_text=failed[1].trial.key).wait_for()
    page.keyboard.press("n")
    page.locator("h1", has_text=failed[2].trial.key).wait_for()
    page.keyboard.press("p")
    page.locator("h1", has_text=failed[1].trial.key).wait_for()
    page.keyboard.press("Escape")
    page.locator("p[data-found]").wait_for()
    assert "outcome=failure" in window.here()
    page.keyboard.press("?")
    page.locator("dialog[open]", has_text="failures only").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.locator("table.runs").wait_for()


def test_one_time_for_film_plots_and_slider(window: Window, run: Run) -> None:
    steps = run.trial("zero/cartpole/0000").steps_total
    page = window.open(f"/run/{run.path.name}/trial?trial=zero/cartpole/0000")
    page.locator(".plot .u-over").first.wait_for()
    page.wait_for_function("() => document.querySelector('video').readyState > 0")
    assert f"step {steps} of {steps}" in page.locator(".scrub output").inner_text()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.locator(".scrub output", has_text=f"step 3 of {steps}").wait_for()
    at = page.evaluate("() => { const v = document.querySelector('video'); return v.currentTime / v.duration; }")
    assert at == pytest.approx(2.5 / steps, abs=0.12)
    page.locator(".plot[data-signal=rewards] .u-over").scroll_into_view_if_needed()
    box = page.locator(".plot[data-signal=rewards] .u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 25)
    pointed = "|".join(str(step) for step in range(steps // 2 - 1, steps // 2 + 3))
    page.locator(".scrub output", has_text=re.compile(f"step ({pointed}) of")).wait_for()
    page.get_by_role("button", name="the end").click()
    page.locator(".scrub output", has_text=f"step {steps} of {steps}").wait_for()
    reward = page.locator(".plot[data-signal=rewards] .values b").inner_text()
    assert float(reward) == run.signals("zero/cartpole/0000")["rewards"][-1]


def test_a_trial_in_space_is_drawn_and_moves(window: Window, run: Run, poses: Run) -> None:
    from PIL import Image

    page = window.open(f"/run/{poses.path.name}/trial?trial=random/pole/0000")
    page.get_by_role("tab", name="In space").click()
    page.locator(".stage[data-kind=model] canvas[data-drawn]").wait_for()
    page.keyboard.press("Home")
    page.locator("canvas[data-drawn='1']").wait_for()
    first = page.locator(".stage canvas").screenshot()
    page.keyboard.press("End")
    page.locator(f"canvas[data-drawn='{poses.trial('random/pole/0000').steps_total}']").wait_for()
    assert len(Image.open(io.BytesIO(first)).convert("RGB").getcolors(10**6)) > 50
    assert page.locator(".stage canvas").screenshot() != first
    window.open(f"/run/{run.path.name}/trial?trial=zero/cartpole/0000")
    page.locator(".plot").first.wait_for()
    assert page.get_by_role("tab").count() == 0  # there is a film, and nothing to show in space
    page.locator(".stage video").wait_for()


def test_an_imported_trial_offers_nothing_that_cannot_work(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "robot.csv").write_text("agent,task,seed,success\nold,pick,7,1\nold,pick,8,0\n")
    brought = import_outcomes(tmp_path / "robot.csv", ImportOptions("robot", str(tmp_path / "runs"))).run
    with viewer(tmp_path) as served:
        window = Window(browser, served.url, WIDE)
        page = window.open(f"/run/{brought.path.name}/trial?trial=old/pick/0007")
        page.locator(".stage", has_text="which has outcomes and no signals").wait_for()
        assert not page.locator(".scrub").is_visible()
        page.keyboard.press("Space")
        assert page.locator(".copyable").count() == 0
        page.get_by_text("nothing is known here that could run it again").wait_for()
        window.context.close()
        assert [said for said in window.wrong if "404" not in said] == []  # the signals that there are none of


def test_a_hundred_thousand_trials_are_filtered_and_sorted(window: Window, large: Path) -> None:
    page = window.open(f"/run/{large.name}/trials")
    page.locator("form select[name=agent]").wait_for()
    page.locator("form select[name=agent]").select_option("agent1")
    page.locator(f"p[data-found='{TRIALS // 4}']").wait_for()
    page.locator("form select[name=outcome]").select_option("policy_error")
    page.locator("tr[data-key]", has_text="3 frames expected").first.wait_for()
    broken = int(page.locator("p[data-found]").get_attribute("data-found"))
    assert 0 < broken < 500
    page.get_by_role("button", name="Reset").click()
    page.locator(f"p[data-found='{TRIALS}']").wait_for()
    page.get_by_role("button", name="Steps").click()
    page.locator("th[aria-sort=ascending]").wait_for()
    page.get_by_role("button", name="More").click()
    page.locator("tr[data-place='150']").wait_for()


def test_names_with_markup_are_text(window: Window, run: Run) -> None:
    page = window.open(f"/run/{run.path.name}")
    page.locator("#agents").get_by_text(MARKUP).wait_for()
    assert page.locator("h1 img").count() == 0
    page = window.open(f"/compare?run={run.path.name}")
    page.frame_locator("iframe.page").get_by_text(MARKUP).first.wait_for()
    window.open(f"/run/{run.path.name}/trials?text={MARKUP}")
    page.locator(f"p[data-found='{4}']").wait_for()


def test_comparison_leaderboard_and_report_are_within_reach(window: Window, run: Run) -> None:
    page = window.open("/")
    page.get_by_label(f"choose {run.path.name}").check()
    page.get_by_role("link", name="Compare").click()
    page.frame_locator("iframe.page").get_by_text("What was compared").first.wait_for()
    window.open(f"/leaderboard?run={run.path.name}")
    page.frame_locator("iframe.page").get_by_text("What was ranked").first.wait_for()
    window.open(f"/report?run={run.path.name}")
    page.frame_locator("iframe.page").get_by_text("Examination report").first.wait_for()


def test_a_page_stays_current_while_the_run_goes_on_breaks_and_disappears(browser: Any, tmp_path: Path) -> None:
    """A worker dies on the way, then the run itself is killed, and in the end its folder is gone."""
    marks = tmp_path / "marks"
    marks.mkdir()
    with starting(tmp_path / "runs", trouble="die", seeds=[127], marks=str(marks)) as going, viewer(tmp_path) as served:
        window = Window(browser, served.url, WIDE)
        page = window.open(f"/run/{going.run.name}")
        page.locator("h1 .s-running").wait_for()
        page.locator("#faults", has_text="tried again").wait_for(timeout=60_000)
        before = int(page.locator("#main").get_attribute("data-done") or 0)
        until(lambda: int(page.locator("#main").get_attribute("data-done") or 0) > before)
        page.locator(".growth svg").wait_for()
        page.locator("#facts", has_text="Memory").wait_for()
        widths = page.evaluate("() => [...document.querySelectorAll('.pair > *')].map((one) => one.clientWidth)")
        assert min(widths) >= 480, "a table of forwards would be cut"
        going.kill()
        page.locator("h1 .s-ended").wait_for(timeout=60_000)
        page.get_by_text("did not end by itself").wait_for()
        shutil.rmtree(going.run)
        page.locator("h1 .s-gone").wait_for(timeout=60_000)
        page.get_by_text(re.compile(r"\w\. What is below was read before\.$")).wait_for()
        window.context.close()
        window.wrong[:] = [said for said in window.wrong if "404" not in said]  # a verdict of what is gone
        assert window.wrong == []


def test_nodes_of_a_cluster_have_a_row_each(browser: Any, tmp_path: Path) -> None:
    """Of a run that goes on on some other machine, which says so in its lock and in `live.json`."""
    run = run_evaluation(config_from_dict(examination(tmp_path)))
    (run.path / "lock").write_text("process 12 on elsewhere")
    here = {"workers": 2, "trials": 1234, "trials_per_s": 45.85, "busy": 0.375, "lost": 8}
    gone = {"workers": 0, "trials": 7, "trials_per_s": 0.0, "busy": None, "lost": 0}
    said = {
        "at": 1.0, "pid": 12, "host": "elsewhere", "phase": "running", "waits_for": None, "planned": 9, "done": 5,
        "done_before": 0, "running": 4, "retried": 0, "steps": 100, "seconds": 3.0, "batching": {}, "spent": {},
        "workers": [{"slots": 4, "busy": 4, "deaths": 0}], "nodes": {"first": here, "second": gone},
        "memory_bytes": 1e8,
    }  # fmt: skip
    (run.path / "live.json").write_text(json.dumps(said))
    with viewer(tmp_path) as served:
        window = Window(browser, served.url, WIDE)
        shown = window.open(f"/run/{run.path.name}").inner_text("#main")
        assert re.search(r"^first\s+2\s+1,234\s+45.9\s+38 %\s+8$", shown, re.M), shown
        assert re.search(r"^second\s+gone\s+7\s+0\s+–", shown, re.M), shown
        assert "of the driver alone" in shown
        assert window.wrong == []
        window.context.close()


def test_a_token_is_exchanged_once(browser: Any, run: Run) -> None:
    with viewer(run.path.parent, token="secret") as served:
        window = Window(browser, served.url, WIDE)
        assert window.page.goto(served.url).status == 401
        page = window.open("/?token=secret")
        page.locator("table.runs").wait_for()
        assert "secret" not in window.here()
        window.open(f"/run/{run.path.name}")
        window.context.close()
        assert [said for said in window.wrong if "401" not in said] == []
