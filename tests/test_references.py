"""References to hubs: what is one, and what it says."""

from __future__ import annotations

import pytest

from proctor.errors import InputError
from proctor.references import is_reference, parse


@pytest.mark.parametrize(
    ("text", "home", "revision", "file"),
    [
        ("hf://org/name", "org/name", "main", None),
        ("hf://org/name@v1.0", "org/name", "v1.0", None),
        ("hf://org/name@main/a/b.zip", "org/name", "main", "a/b.zip"),
        ("hf://org/name/b.zip", "org/name", "main", "b.zip"),
        ("hf://org/name@refs/pr/3/b.zip", "org/name", "refs/pr/3", "b.zip"),
        ("wandb://me/project/model", "me/project/model", "latest", None),
        ("wandb://me/project/model:v3/a/b.pt", "me/project/model", "v3", "a/b.pt"),
    ],
)
def test_a_reference_says_what_and_where_and_reads_itself(
    text: str, home: str, revision: str, file: str | None
) -> None:
    found = parse(text)
    assert is_reference(text)
    assert (found.home, found.revision, found.file) == (home, revision, file)
    assert parse(str(found)) == found


def test_commits_and_numbered_versions_cannot_move() -> None:
    fixed = [f"hf://o/n@{'a' * 40}", "wandb://e/p/a:v12"]
    moving = ["hf://o/n@main", "hf://o/n@abc1234", "wandb://e/p/a:best", "wandb://e/p/a"]
    assert [parse(text).pinned for text in fixed + moving] == [True] * 2 + [False] * 4


@pytest.mark.parametrize(
    "text",
    [
        "hf://",
        "hf://name",
        "hf://../n",
        "hf://o/n@../x",
        "hf://o/n/../x",
        "hf://o/n//x",
        "hf://o/n/a\\b",
        "hf://o/n/a@b",
    ],
)
def test_what_leads_out_of_its_folder_or_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no checkpoint; expected hf://ORG/NAME@REVISION/FILE, or without /FILE"):
        parse(text)


@pytest.mark.parametrize("text", ["wandb://e/p", "wandb://../../x:v0", "wandb://e/p/a:v1/../x", "wandb://e/p/a:v1:v2"])
def test_so_it_is_for_artifacts(text: str) -> None:
    with pytest.raises(InputError, match="is no checkpoint; expected wandb://ENTITY/PROJECT/ARTIFACT:VERSION/FILE"):
        parse(text)
