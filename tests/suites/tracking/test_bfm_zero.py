"""BFM-Zero's checkpoint folder as an agent, with a double of its package."""

from __future__ import annotations

import sys

import bfm_zero_package
import pytest

from proctor import config_from_dict, run_evaluation
from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies import fingerprint

pytest.importorskip("torch")
pytest.importorskip("safetensors")

GROUPS = ["state", "privileged_state", "last_action", "history_actor", "motion", "frame"]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The double of the package, importable for as long as a test runs."""
    if sys.modules.get("humanoidverse") is not None:
        pytest.skip("the genuine humanoidverse is imported in this process")
    monkeypatch.syspath_prepend(bfm_zero_package.write_package(tmp_path / "site"))
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] == "humanoidverse"]:
        del sys.modules[name]


def run(folder, checkpoint, options=None):
    task = {
        "motions": "procedural:wave",
        "max_episode_length_s": 0.2,
        "robot": "builtin:g1_bfm_zero",
        "layout": "humanoidverse",
        "observations": GROUPS,
        **(options or {}),
    }
    config = {
        "agents": [{"name": "bfm", "policy": "tracking/bfm_zero", "checkpoint": str(checkpoint)}],
        "tasks": [{"suite": "tracking", "n_trials": 2, "options": task}],
        "workers": {"kind": "inline"},
        "output_root": str(folder / "runs"),
    }
    return run_evaluation(config_from_dict(config, base=folder))


def test_a_checkpoint_folder_runs_unchanged(package):
    found = run(package, bfm_zero_package.write_checkpoint(package / "results"))
    outcomes = {result.outcome.value for result in found.results()}
    assert outcomes <= {"success", "failure", "truncated"}


@pytest.mark.parametrize("inside", ["", "checkpoint", "checkpoint/model"])
def test_the_folder_may_be_given_at_each_of_its_levels(package, inside):
    folder = bfm_zero_package.write_checkpoint(package / "results")
    found = fingerprint(AgentCfg(name="bfm", policy="tracking/bfm_zero", checkpoint=str(folder / inside)), package)
    assert found


@pytest.mark.parametrize(
    ("changes", "options", "text"),
    [
        ({}, {"observations": ["state", "motion", "frame"]}, "privileged_state (463,), last_action (29,), history_act"),
        ({}, {"layout": {"history": {"dof_pos": 2}}}, "history_actor (372,) (the task's is (314,))"),
        ({"config": {"name": "TDMPC"}}, {}, "holds a TDMPC; known are FBModel, FBcprModel, FBcprAuxModel"),
        ({"config": {"name": "FBModel"}}, {}, "FBModel is BFM-Zero's class, and humanoidverse.agents.fb"),
    ],
)
def test_what_does_not_fit_is_said(package, changes, options, text):
    with pytest.raises(InputError) as error:
        run(package, bfm_zero_package.write_checkpoint(package / "results", **changes), options)
    assert text in str(error.value)


def test_a_pickle_beside_the_weights_needs_trust(package):
    folder = bfm_zero_package.write_checkpoint(package / "results")
    (folder / "checkpoint" / "model" / "init_kwargs.pkl").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(InputError, match=r"is a pickle, which runs code when it is loaded; save the model again"):
        run(package, folder)


def test_another_folder_is_none(package):
    (package / "empty").mkdir()
    with pytest.raises(InputError, match=r"is no checkpoint folder of BFM-Zero: expected config.json and model.safe"):
        run(package, package / "empty")
