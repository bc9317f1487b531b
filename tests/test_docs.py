"""The documentation is true: its pages run and print what they show, its commands exist, its links lead somewhere.

`PROCTOR_DOCS=update pytest tests/test_docs.py` writes what the commands print into the pages. How a page is run:
`tests/support/manual.py`.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from manual import LANGUAGES, PAGES, ROOT, agree, anchors, blocks, commands, is_slow, presentable
from manual_session import Session, kept_apart

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
INLINE_VERB = re.compile(r"`proctor ([a-z]+)[^`]*`")
LINKED = [*PAGES, ROOT / "CHANGELOG.md"]
MOST_NOT_RUN = 23
"""So many blocks of all pages may be left out."""


def named(pages: list[Path]) -> list[Any]:
    return [pytest.param(p, id=p.stem, marks=[pytest.mark.slow] if is_slow(p) else []) for p in pages]


@pytest.mark.parametrize("page", named([p for p in PAGES if any(b.language for b in blocks(p))]))
def test_pages_run_and_print_what_they_show(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    with kept_apart(tmp_path):
        Session(tmp_path, update=os.environ.get("PROCTOR_DOCS") == "update").read(page)


def test_few_blocks_are_left_out_each_with_a_reason() -> None:
    left_out = [block for page in PAGES for block in blocks(page) if not block.runs]
    assert all(block.mark("not run") for block in left_out), [b.where for b in left_out if not b.mark("not run")]
    assert len(left_out) <= MOST_NOT_RUN, [f"{b.where}: {b.mark('not run')}" for b in left_out]


def test_every_block_is_of_a_known_language() -> None:
    for page in PAGES:
        for block in blocks(page):
            assert block.language in LANGUAGES, f"{block.where}: {block.language}"


def test_every_python_file_of_a_page_is_used_on_that_page() -> None:
    for page in PAGES:
        for block in blocks(page):
            if block.language == "python" and block.file:
                others = [b.text for b in blocks(page) if b != block]
                assert any(re.search(rf"\b{Path(block.file).stem}\b", text) for text in others), block.where


def test_outputs_agree_up_to_times_dates_and_paths() -> None:
    shown = "run 20260101-120000 took 1.5 s\n...\n90 of 90 trials done\n"
    printed = "[   0.0 s] starting\nrun 20261116-145301 took 12 min 4 s\na\nb\n90 of 90 trials done\n"
    assert agree(shown, printed)
    assert not agree(shown.replace("90 of 90", "89 of 90"), printed)
    assert not agree(shown.replace("...\n", ""), printed)
    assert presentable(printed, "x\n...\nx\n") == ("run 20260101-120000 took 12 min 4 s\n...\n90 of 90 trials done\n")


def test_public_names_in_python_blocks_exist() -> None:
    import proctor

    for page in PAGES:
        for names in re.findall(r"^from proctor import (.+)$", page.read_text(), re.MULTILINE):
            missing = [name for name in names.split(", ") if name not in proctor.__all__]
            assert not missing, f"{page.name}: proctor has no {missing}"


def verbs_used() -> Iterator[tuple[str, list[str]]]:
    """Every command line of a bash block that calls proctor: where, and the words after `proctor`."""
    for page in PAGES:
        for block in blocks(page):
            if block.language == "bash":
                for line in commands(block.text):
                    if line.startswith("proctor "):
                        yield block.where, shlex.split(line)[1:]


def test_commands_and_their_options_exist() -> None:
    import typer.main

    from proctor.cli import app

    known: Any = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for page, (verb, *rest) in verbs_used():
        assert verb in known, f"{page}: proctor {verb}"
        command = known[verb]
        while rest and rest[0] in getattr(command, "commands", {}):
            command, rest = command.commands[rest[0]], rest[1:]
        options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        unknown = [word for word in rest if word.startswith("--") and word not in options]
        assert not unknown, f"{page}: proctor {verb} has no {unknown}"
    for page in LINKED:
        for verb in INLINE_VERB.findall(page.read_text()):
            assert verb in known, f"{page.name}: proctor {verb}"


def test_make_verbs_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for page in LINKED:
        for verb in re.findall(r"^make ([a-z]+)|`make ([a-z]+)", page.read_text(), re.MULTILINE):
            assert re.search(rf"^{''.join(verb)}:", makefile, re.MULTILINE), f"{page.name}: make {''.join(verb)}"


@pytest.mark.parametrize("page", [pytest.param(p, id=p.stem) for p in LINKED])
def test_links_resolve(page: Path) -> None:
    for target in LINK.findall(BLOCK.sub("", page.read_text())):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path) if path else page
        assert found.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(found), f"{page.name}: {target} (it has {', '.join(sorted(anchors(found)))})"


def test_every_page_is_reachable_from_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    for page in PAGES[1:]:
        name = page.relative_to(ROOT / "docs").as_posix()
        assert name == "index.md" or f"({name})" in index, f"docs/index.md does not link {name}"


def test_words_of_the_glossary_are_where_it_says() -> None:
    rows = re.findall(
        r"^\| ([^|]+) \| [^|]+ \| (?:`([^`]*)` )?\|$", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE
    )
    words = [word for names, _ in rows for word in names.split(", ")]
    assert len(words) > 60
    assert len(set(words)) == len(words), "one row for each word"
    for names, place in rows:
        if place and names != "word":
            module, _, attribute = (place if place.startswith("proctor_host.") else f"proctor.{place}").partition(":")
            found = importlib.import_module(module)
            assert not attribute or hasattr(found, attribute), f"{names}: {place}"


def test_extending_names_every_kind_of_part_and_files_that_are_there() -> None:
    from proctor.registry import KINDS

    text = (ROOT / "docs" / "extending.md").read_text()
    assert [registry.group for registry in KINDS if f"`{registry.group}`" not in text] == []
    for path in re.findall(r"`((?:\w+/)+)(?:from_)?NAME\.py`", text):
        assert (ROOT / "src" / "proctor" / path).is_dir(), path


def keys_by_page() -> dict[str, set[str]]:
    """What each page must name: keys of the config models, options, columns, registered parts."""
    from proctor.config import models
    from proctor.policies.options import ActionScaleCfg, NormalizeCfg
    from proctor.registry import LOADERS, METRICS, SCORINGS
    from proctor.report.formats.tables import COMMON
    from proctor.suites.crafter.suite import CrafterOptions
    from proctor.suites.goals.config import AblationCfg, BandsCfg, GoalsCfg, SelectionCfg
    from proctor.suites.gymnasium.options import GymnasiumOptions, SuccessCfg, VectorCfg
    from proctor.suites.mjlab.suite import MjlabOptions
    from proctor.suites.tracking.options import TerminateCfg, TrackingOptions
    from proctor.suites.tracking.randomise import NoiseCfg, PushCfg, RandomiseCfg
    from proctor.suites.tracking.robot.config import DescriptionCfg
    from proctor.suites.vla_eval.suite import ActionCfg, VlaEvalOptions
    from proctor_host.episode import Outcome

    configs = (models.EvalConfig, models.AgentCfg, models.TaskCfg, models.WorkersCfg, models.RecordCfg)
    configs += (models.VideoCfg, models.ScoringCfg, models.LimitsCfg, models.ReportCfg, models.DeclareCfg)
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
        "mjlab.md": _fields(MjlabOptions),
        "tracking.md": _fields(*tracking),
        "vla-eval.md": _fields(VlaEvalOptions, ActionCfg),
        "engine.md": {outcome.value for outcome in Outcome},
        "runs.md": set(COMMON),
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
