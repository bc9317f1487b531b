"""Finding loaders, options, identity, and the python loader."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pytest
from gymnasium import spaces
from pydantic import ValidationError

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies import fingerprint, infer_loader, load_policy, loader_for, options_for
from proctor.policies.protocol import Policy
from proctor.registry import LOADERS

SOURCE = """
import numpy as np
from proctor.policies.protocol import Policy

class Constant(Policy):
    def __init__(self, value=0.0, checkpoint=None, spaces=None):
        self.value, self.checkpoint, self.spaces = value, checkpoint, spaces

    def act(self, batch):
        return np.full((len(batch), 1), self.value)

def plain(value=0.0):
    return Constant(value)

def wrong():
    return 3

number = 4
"""


@pytest.fixture
def base(tmp_path):
    (tmp_path / "mine.py").write_text(SOURCE)
    (tmp_path / "weights.bin").write_bytes(b"weights")
    return tmp_path


def test_importing_the_package_imports_no_model_library():
    heavy = "{'torch', 'onnxruntime', 'stable_baselines3', 'gymnasium'}"
    code = f"import sys, proctor.policies as p; p.infer_loader('a.onnx'); print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_every_registered_loader_declares_itself():
    for name in LOADERS.names():
        loader = loader_for(name)
        assert loader.name == name
        assert all(len(pair) == 2 for pair in loader.needs)


def test_unknown_loader_suggests_the_nearest():
    with pytest.raises(InputError, match='unknown policy loader "onx"; did you mean "onnx"'):
        loader_for("onx")


@pytest.mark.parametrize(
    ("name", "loader"),
    [
        ("a/b.onnx", "onnx"),
        ("m.zip", "sb3"),
        ("m.PT", "torch"),
        ("m.pth", "torch"),
        ("m.safetensors", "torch"),
    ],
)
def test_loader_is_inferred_from_the_ending(name, loader):
    assert infer_loader(name) == loader


def test_an_unknown_ending_lists_the_known():
    with pytest.raises(InputError, match=r'no loader reads "m.mat".*\.onnx \(onnx\)'):
        infer_loader("m.mat")


def test_options_are_checked_by_the_loader():
    with pytest.raises(ValidationError, match="frame_stak"):
        options_for(AgentCfg(name="a", policy="random", options={"frame_stak": 2}))
    with pytest.raises(ValidationError, match="target"):
        options_for(AgentCfg(name="a", policy="python"))


def test_an_import_string_is_the_python_loaders_target():
    assert options_for(AgentCfg(name="a", policy="m:C")).model_dump()["target"] == "m:C"
    with pytest.raises(InputError, match="keep one"):
        options_for(AgentCfg(name="a", policy="m:C", options={"target": "m:D"}))


def test_options_survive_being_written_down_and_read_again():
    agent = AgentCfg(name="a", policy="sb3", options={"vec_normalize": "v.pkl", "frame_stack": 3})
    options = options_for(agent)
    again = options_for(agent.model_copy(update={"options": options.model_dump(mode="json")}))
    assert again == options


@pytest.mark.parametrize("target", ["mine.py:Constant", "mine.py:plain", "mine:Constant"])
def test_python_loader_takes_classes_and_factories(base, info, make_batch, target):
    agent = AgentCfg(name="a", policy=target, options={"kwargs": {"value": 2.5}})
    policy = load_policy(agent, info(1, spaces.Box(-3, 3, (1,))), base)
    assert isinstance(policy, Policy)
    assert (np.asarray(policy.act(make_batch(np.zeros((4, 1))))) == 2.5).all()


def test_python_loader_hands_over_what_the_signature_names(base, info):
    given = info(1, spaces.Box(-3, 3, (1,)))
    policy = load_policy(AgentCfg(name="a", policy="mine.py:Constant", checkpoint="weights.bin"), given, base)
    assert policy.checkpoint == str(base / "weights.bin")
    assert policy.spaces.action == given.action


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ({"policy": "mine.py:wrong"}, "gave a int; expected a Policy or StagedPolicy"),
        ({"policy": "mine.py:number"}, "is a int; expected a Policy class, a factory, or a function of an observation"),
        ({"policy": "mine.py:Constan"}, 'has no "Constan"; did you mean "Constant"'),
        (
            {"policy": "mine.py:plain", "options": {"kwargs": {"valu": 1}}},
            "unexpected keyword argument 'valu'",
        ),
        (
            {"policy": "mine.py:plain", "checkpoint": "weights.bin"},
            "takes none; give it a parameter `checkpoint`",
        ),
        (
            {"policy": "mine.py:Constant", "checkpoint": "weight.bin"},
            'no file .*; did you mean "weights.bin"',
        ),
        ({"policy": "onnx"}, r"the onnx loader needs a checkpoint \(.onnx\)"),
    ],
)
def test_python_loader_errors_say_what_to_do(base, info, agent, message):
    with pytest.raises(InputError, match=message):
        load_policy(AgentCfg(name="a", **agent), info(1, spaces.Box(-3, 3, (1,))), base)


def test_fingerprint_follows_content_not_place(base, tmp_path_factory):
    agent = AgentCfg(name="a", policy="mine.py:Constant", checkpoint="weights.bin")
    found = fingerprint(agent, base)
    assert found["checkpoint"] == hashlib.sha256(b"weights").hexdigest()
    other = tmp_path_factory.mktemp("other")
    (other / "mine.py").write_text(SOURCE)
    (other / "weights.bin").write_bytes(b"weights")
    assert fingerprint(agent, other) == found
    (other / "mine.py").write_text(SOURCE + "\n")
    assert fingerprint(agent, other).keys() == found.keys()
    assert fingerprint(agent, other) != found


def test_fingerprint_includes_normalisation(base):
    (base / "stats.json").write_text('{"mean": [0], "var": [1]}')
    agent = AgentCfg(name="a", policy="random", options={"normalize": {"file": "stats.json"}})
    assert set(fingerprint(agent, base)) == {"normalize.file"}
    assert fingerprint(AgentCfg(name="a", policy="zero"), base) == {}
