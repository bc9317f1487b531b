"""The documentation is true: its configs load and run, its commands exist, its links lead somewhere.

Code blocks say in their first line what they are. `# file: NAME` is a whole file: all of a page's files are
laid into one folder, and configs among them are run for one trial. `# fragment` is a part of a config: it is
validated, but files that it names need not exist. `# other` is YAML of somebody else's.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from proctor import ConfigError, config_from_dict, load_config, run_evaluation

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
INLINE_VERB = re.compile(r"`proctor ([a-z]+)[^`]*`")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
STAND_INS = {"agents": [{"policy": "random"}], "tasks": ["CartPole-v1"]}
ABSENT = ("no such file", "no file matches")


class Block(NamedTuple):
    page: Path
    language: str
    text: str

    @property
    def file(self) -> str | None:
        found = re.match(r"# file: (\S+)\n", self.text)
        return found[1] if found else None

    @property
    def marker(self) -> str:
        """`file`, `fragment`, `other`, or whatever else the first line begins with."""
        return self.text.removeprefix("# ").partition("\n")[0].partition(":")[0]


def blocks(language: str) -> list[Block]:
    return [
        Block(page, found[1], found[2])
        for page in PAGES
        for found in BLOCK.finditer(page.read_text())
        if found[1] == language
    ]


def named(found: list[Block]) -> list[Any]:
    """One test per block, named after its page."""
    return [pytest.param(block, id=f"{block.page.stem}-{number}") for number, block in enumerate(found)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a reader would work: the examples beside their own files."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.mark.parametrize("block", named([b for b in blocks("yaml") if b.file]))
def test_whole_configs_run(block: Block, folder: Path) -> None:
    for other in (*blocks("python"), *blocks("yaml")):
        if other.page == block.page and other.file:
            (folder / other.file).write_text(other.text)
    assert block.file
    overrides = ["n_trials=1", "workers=inline", f"output_root={folder / 'runs'}"]
    run = run_evaluation(load_config(folder / block.file, overrides))
    results = list(run.results())
    assert results
    assert all(r.outcome.scored and not r.outcome.broken_by_policy for r in results), [r.error for r in results]


@pytest.mark.parametrize("block", named([b for b in blocks("yaml") if not b.file and b.marker != "other"]))
def test_fragments_are_valid_as_far_as_their_files_exist(block: Block, folder: Path) -> None:
    assert block.marker == "fragment", f"{block.page.name}: say in the first line what this block is:\n{block.text}"
    try:
        config_from_dict({**STAND_INS, **yaml.safe_load(block.text)}, folder)
    except ConfigError as error:
        left = [str(p) for p in error.problems if not p.message.startswith(ABSENT)]
        assert not left, "\n".join(left)


@pytest.mark.parametrize("block", named(blocks("python")))
def test_python_compiles(block: Block) -> None:
    compile(block.text, str(block.page), "exec")


def test_public_names_in_python_blocks_exist() -> None:
    import proctor

    for block in blocks("python"):
        for names in re.findall(r"^from proctor import (.+)$", block.text, re.MULTILINE):
            missing = [name for name in names.split(", ") if name not in proctor.__all__]
            assert not missing, f"{block.page.name}: proctor has no {missing}"


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command line of a bash block that calls proctor: (page, words after `proctor`)."""
    for block in blocks("bash"):
        for line in block.text.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["proctor"]:
                yield block.page.name, words[1:]


def test_commands_and_their_options_exist() -> None:
    import typer.main

    from proctor.cli import app

    known: Any = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for page, (verb, *rest) in commands():
        assert verb in known, f"{page}: proctor {verb}"
        options = {name for parameter in known[verb].params for name in parameter.opts}
        unknown = [word for word in rest if word.startswith("--") and word not in options]
        assert not unknown, f"{page}: proctor {verb} has no {unknown}"
    for page in PAGES:
        for verb in INLINE_VERB.findall(page.read_text()):
            assert verb in known, f"{page.name}: proctor {verb}"


def test_make_verbs_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for verb in re.findall(r"^make ([a-z]+)|`make ([a-z]+)", page.read_text(), re.MULTILINE):
            assert re.search(rf"^{''.join(verb)}:", makefile, re.MULTILINE), f"{page.name}: make {''.join(verb)}"


@pytest.mark.parametrize("page", [pytest.param(p, id=p.stem) for p in PAGES])
def test_links_resolve(page: Path) -> None:
    for target in LINK.findall(BLOCK.sub("", page.read_text())):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path) if path else page
        assert found.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(found), f"{page.name}: {target} (it has {', '.join(sorted(anchors(found)))})"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = HEADING.findall(BLOCK.sub("", page.read_text()))
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_page_is_reachable_from_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    for page in PAGES[2:]:
        name = page.relative_to(ROOT / "docs").as_posix()
        assert name == "index.md" or f"({name})" in index, f"docs/index.md does not link {name}"


def keys_by_page() -> dict[str, set[str]]:
    """What each page must name: keys of the config models, options, columns, registered parts."""
    from proctor.config import models
    from proctor.policies.options import ActionScaleCfg, NormalizeCfg
    from proctor.record.episode import Outcome
    from proctor.registry import LOADERS, METRICS, SCORINGS
    from proctor.report.formats.tables import FIXED
    from proctor.suites.crafter.options import CrafterOptions
    from proctor.suites.goals.config import AblationCfg, BandsCfg, GoalsCfg, SelectionCfg
    from proctor.suites.gymnasium.options import GymnasiumOptions, SuccessCfg, VectorCfg
    from proctor.suites.tracking.options import TerminateCfg, TrackingOptions
    from proctor.suites.tracking.randomise import NoiseCfg, PushCfg, RandomiseCfg
    from proctor.suites.tracking.robot.config import DescriptionCfg

    configs = (models.EvalConfig, models.AgentCfg, models.TaskCfg, models.WorkersCfg, models.RecordCfg)
    configs += (models.VideoCfg, models.ScoringCfg, models.LimitsCfg)
    loaders = [LOADERS.load(name) for name in LOADERS.names()]
    options = (NormalizeCfg, ActionScaleCfg, *(loader.Options for loader in loaders))
    suite = (GymnasiumOptions, SuccessCfg, VectorCfg)
    tracking = (TrackingOptions, TerminateCfg, NoiseCfg, PushCfg, RandomiseCfg, DescriptionCfg)
    return {
        "config.md": _fields(*configs),
        "policies.md": _fields(*options) | set(LOADERS.names()),
        "environments.md": _fields(*suite),
        "goals.md": _fields(GoalsCfg, SelectionCfg, AblationCfg, BandsCfg),
        "crafter.md": _fields(CrafterOptions),
        "tracking.md": _fields(*tracking),
        "engine.md": {outcome.value for outcome in Outcome},
        "runs.md": set(FIXED),
        "scoring.md": {name for name in METRICS.names() if not name.endswith("force_norm_mean")}
        | set(SCORINGS.names()),
    }


def _fields(*configs: Any) -> set[str]:
    return {name for model in configs for name in model.model_fields}


@pytest.mark.parametrize("page", sorted(keys_by_page()))
def test_every_key_is_documented(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    missing = [key for key in sorted(keys_by_page()[page]) if not re.search(rf"\b{re.escape(key)}\b", text)]
    assert not missing, f"docs/{page} does not name {', '.join(missing)}"
