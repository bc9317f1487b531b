"""Checkpoints among the artifacts of Weights & Biases: the genuine package against a server on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import wandb_server
from wandb_apart import settings_of_its_own
from wandb_server import Artifacts

from proctor.errors import InputError
from proctor.policies.files import fetched, find_file, newest

pytest.importorskip("wandb")


@pytest.fixture
def artifacts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Artifacts]:
    for key in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "PROCTOR_CACHE"):
        monkeypatch.setenv(key, str(tmp_path / key))
    monkeypatch.setenv("WANDB_API_KEY", "k" * 40)
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    with wandb_server.serving("me", "gains", "model") as served:
        served.versions += [{"gain.json": b"one"}, {"gain.json": b"two", "deep/more.json": b"more"}]
        monkeypatch.setenv("WANDB_BASE_URL", served.url)
        with settings_of_its_own():
            yield served


def test_an_alias_is_pinned_to_its_version_which_is_fetched_once(artifacts: Artifacts) -> None:
    path, reference = fetched("wandb://me/gains/model:latest/gain.json", "agent", folders=False)
    assert (path.read_bytes(), str(reference)) == (b"two", "wandb://me/gains/model:v1/gain.json")
    artifacts.asked.clear()
    assert find_file(str(reference), None, "agent") == path
    assert artifacts.asked == []
    artifacts.versions.append({"gain.json": b"three"})
    assert newest("wandb://me/gains/model:latest/gain.json") == "v2"
    assert fetched(str(reference), "agent", folders=False) == (path, reference)


def test_a_folder_is_fetched_whole_or_not_at_all(artifacts: Artifacts) -> None:
    path, reference = fetched("wandb://me/gains/model", "agent", folders=True)
    assert str(reference) == "wandb://me/gains/model:v1"
    found = {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}
    assert found == artifacts.versions[1]
    with pytest.raises(InputError, match="agent: wandb://me/gains/model is a whole folder; name the file in it"):
        find_file("wandb://me/gains/model", None, "agent")


def test_a_file_cannot_leave_its_folder(artifacts: Artifacts, tmp_path: Path) -> None:
    artifacts.versions.append({"../../../../out.json": b"!"})
    with pytest.raises(InputError, match=r"me/gains/model:v2 has a file outside of its folder: '\.\./"):
        fetched("wandb://me/gains/model", "agent", folders=True)
    assert not list(tmp_path.rglob("out.json"))


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        (
            "wandb://me/gains/model:v9/gain.json",
            "has no artifact me/gains/model:v9, or it is private: look at the name and the version, or log in with",
        ),
        (
            "wandb://me/losses/model/gain.json",
            "Weights & Biases has no artifact me/losses/model:latest, or it is private",
        ),
        (
            "wandb://me/gains/model/gian.json",
            "me/gains/model:v1 has no file gian.json; it has deep/more.json, gain.json; did you mean",
        ),
    ],
)
def test_what_cannot_be_fetched_is_one_sentence(artifacts: Artifacts, reference: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        find_file(reference, None, 'agent "a", checkpoint')
    assert str(error.value).startswith('agent "a", checkpoint: ')
    assert sentence in str(error.value)
    assert "k" * 40 not in str(error.value)
