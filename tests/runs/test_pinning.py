"""Checkpoints on the Hugging Face Hub: the genuine package against a hub on loopback. A run keeps the commit it began
with."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hub_server
import pytest
from examining import digests, examination, task
from hub_server import Hub
from telling import Tell

from proctor import InputError, Run, config_from_dict, run_evaluation
from proctor.runs.merge import merge
from proctor.runs.resume import resume
from proctor.runs.untrusted import untrusted_code

pytest.importorskip("huggingface_hub")

TASKS = "tasks: [{suite: gymnasium, options: {id: CartPole-v1}}]\n"
TOKEN = "hf_do_not_write_me_down"
GAIN = """
import json
from pathlib import Path

import numpy as np

from proctor import Policy


class Gain(Policy):
    def __init__(self, checkpoint):
        path = Path(checkpoint)
        self.gain = json.loads((path / "gain.json" if path.is_dir() else path).read_text())["gain"]

    def act(self, batch):
        return np.clip(self.gain * batch.observation[:, :2], -1, 1)
"""
Start = Callable[..., Run]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that the package, which reads its settings when it is imported, has been told of."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "huggingface_hub"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with hub_server.serving() as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        served.commit("org/gain", {"gain.json": b'{"gain": -0.5}', "deep/gain.json": b'{"gain": 1.0}'})
        yield served


@pytest.fixture
def start(tmp_path: Path) -> Start:
    (tmp_path / "gain.py").write_text(GAIN)

    def run(checkpoint: str, shard: str | None = None, n_trials: int = 2) -> Run:
        agent = {"policy": f"{tmp_path}/gain.py:Gain", "checkpoint": checkpoint}
        cfg = config_from_dict(examination(tmp_path / "runs", agents=[agent], tasks=[task()], n_trials=n_trials))
        return run_evaluation(cfg, shard=shard)

    return run


def config_of(run: Run) -> dict[str, Any]:
    return json.loads((run.path / "config.json").read_text())


def test_a_run_keeps_the_commit_and_goes_on_with_it_where_the_branch_has_moved(hub: Hub, start: Start) -> None:
    before = hub.branches["org/gain"]["main"]
    run = start("hf://org/gain@main/gain.json")
    agent = config_of(run)["agents"][0]
    assert (agent["name"], agent["checkpoint"]) == ("gain", f"hf://org/gain@{before}/gain.json")
    assert resume(run.path).notes == ()
    now = hub.commit("org/gain", {"gain.json": b'{"gain": 0.7}'})
    found = resume(run.path, ["n_trials=3"])
    moved = f"hf://org/gain@main/gain.json has moved to {now} since this run began, which goes on with {before}"
    assert found.notes == (moved,)
    assert digests(found.run) == digests(start(f"hf://org/gain@{before}/gain.json", n_trials=3))
    assert digests(found.run) != digests(start("hf://org/gain@main/gain.json", n_trials=3))


def test_shards_on_both_sides_of_a_move_are_not_one_run(hub: Hub, start: Start) -> None:
    first = start("hf://org/gain@main/gain.json", shard="1/2")
    hub.commit("org/gain", {"gain.json": b'{"gain": 0.7}'})
    second = start("hf://org/gain@main/gain.json", shard="2/2")
    with pytest.raises(InputError, match=r"they differ in\n  agents.0.checkpoint: 'hf://org/gain@.*' in .*'hf://org/"):
        merge([first.path, second.path])


def test_a_folder_is_fetched_whole_and_each_file_of_it_is_noted(hub: Hub, start: Start) -> None:
    run = start("hf://org/gain")
    with run.ledger() as ledger:
        prints = ledger.get_meta("fingerprints")
    roles = {"checkpoint/gain.json", "checkpoint/deep/gain.json"}
    assert {role for role in prints["gain"] if role.startswith("checkpoint")} == roles
    deep = start("hf://org/gain@main/deep")
    assert config_of(deep)["agents"][0]["checkpoint"].endswith("/deep")


def test_the_token_reaches_the_hub_and_no_file_of_the_run(hub: Hub, start: Start) -> None:
    run = start("hf://org/gain/gain.json")
    assert f"Bearer {TOKEN}" in {token for _, token in hub.requests}
    files = [path for path in run.path.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]


def test_without_the_hub_what_was_fetched_is_used_and_what_was_not_is_said(
    hub: Hub, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start("hf://org/gain/gain.json")
    for name in [name for name in sys.modules if name.partition(".")[0] == "huggingface_hub"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub.requests.clear()
    assert resume(run.path, ["n_trials=3"]).complete
    assert config_of(start("hf://org/gain/gain.json"))["agents"] == config_of(run)["agents"]
    with pytest.raises(InputError) as error:
        start("hf://org/gain/deep/gain.json")
    assert str(error.value) == (
        'agent "gain", checkpoint: deep/gain.json of org/gain on the Hugging Face Hub at main is not in the cache, and '
        "the Hub cannot be reached (or HF_HUB_OFFLINE is set); connect once, or give the path of a local file"
    )
    assert hub.requests == []


LOGIN = "log in with `hf auth login`, or set HF_TOKEN"


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("hf://org/gain/gian.json", 'org/gain on the Hugging Face Hub has no file gian.json at main; did you mean "g'),
        ("hf://org/gain@v9/gain.json", "has no revision v9; expected a branch, a tag or a commit"),
        ("hf://org/none/gain.json", f"Hub, or it is private: look at the name, or {LOGIN}"),
        ("hf://org/gated/gain.json", f"Hub is gated: ask its owners for access on its page, then {LOGIN}"),
        ("hf://org/closed/gain.json", f"the Hugging Face Hub answered 403 for org/closed: {LOGIN}"),
        ("hf://o--g/gain/gain.json", '"o--g/gain" is no name of a repository on the Hugging Face Hub; expected ORG/'),
    ],
)
def test_what_cannot_be_fetched_is_one_sentence(hub: Hub, start: Start, reference: str, sentence: str) -> None:
    hub.refused |= {"org/gated": (403, "GatedRepo"), "org/closed": (403, "")}
    with pytest.raises(InputError) as error:
        start(reference)
    assert sentence in str(error.value)
    assert TOKEN not in str(error.value)
    assert hub.url not in str(error.value)


def test_a_loader_of_files_wants_a_file(hub: Hub, tell: Tell, tmp_path: Path) -> None:
    lines = [
        "agents: [{policy: onnx, checkpoint: 'hf://org/gain'}]",
        TASKS,
    ]
    (tmp_path / "c.yml").write_text("\n".join(lines))
    said = tell("check", tmp_path / "c.yml")
    assert said.code == 2
    assert "hf://org/gain is a whole folder; name the file in it: hf://org/gain/FILE" in said.err + said.out
    assert hub.requests == []


def test_untrusted_names_what_would_run_without_fetching_it(hub: Hub, tmp_path: Path) -> None:
    checkpoint = "hf://org/gain@main/model.pt"
    agents = f"agents: [{{policy: torch, checkpoint: '{checkpoint}', options: {{trust: true}}}}]\n"
    (tmp_path / "c.yml").write_text(agents + TASKS)
    listed = [code for code in untrusted_code(tmp_path / "c.yml") if code.target == checkpoint]
    assert [(code.where, code.source) for code in listed] == [
        ("agents.0.options", "file from a hub that runs when it is loaded")
    ]
    (tmp_path / "c.yml").write_text(agents.replace("trust: true", "trust: false") + TASKS)
    assert [code for code in untrusted_code(tmp_path / "c.yml") if "hf:" in code.target] == []
    assert hub.requests == []


def test_workers_in_processes_of_their_own_load_what_was_fetched(hub: Hub, start: Start, tmp_path: Path) -> None:
    agent = {"policy": f"{tmp_path}/gain.py:Gain", "checkpoint": "hf://org/gain/gain.json"}
    keys = {"agents": [{**agent, "options": {"placement": "worker"}}], "tasks": [task()], "n_trials": 2}
    run = run_evaluation(config_from_dict(examination(tmp_path / "runs", workers="process", **keys)))
    assert digests(run) == digests(start("hf://org/gain/gain.json"))


def test_a_missing_package_is_one_sentence(hub: Hub, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError) as error:
        start("hf://org/gain/gain.json")
    assert str(error.value) == (
        'agent "gain", checkpoint: a checkpoint on the Hugging Face Hub needs the package "huggingface_hub"; install '
        'it with: pip install "proctor[hub]"'
    )


def test_check_names_each_agent_whose_checkpoint_is_missing(hub: Hub, tell: Tell, tmp_path: Path) -> None:
    agents = [f"{{name: {name}, checkpoint: 'hf://org/gain/{name}.onnx'}}" for name in ("a", "b")]
    (tmp_path / "c.yml").write_text(f"agents: [{', '.join(agents)}]\n{TASKS}")
    said = tell("check", tmp_path / "c.yml")
    assert [f'agent "{name}", checkpoint: org/gain on the' in said.out for name in ("a", "b")] == [True, True]
    (tmp_path / "c.yml").write_text(f"agents: [{{name: a, policy: onnx, checkpoint: 'hf://gain'}}]\n{TASKS}")
    assert (
        'agents[0].checkpoint: "hf://gain" is no checkpoint; expected hf://ORG' in tell("check", tmp_path / "c.yml").err
    )
