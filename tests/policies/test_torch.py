"""The torch loader."""

from __future__ import annotations

import importlib
import pickle
import sys
import warnings
import zipfile

import numpy as np
import pytest
from gymnasium import spaces

from proctor.config.models import AgentCfg
from proctor.errors import InputError, MissingExtra
from proctor.policies import fingerprint, load_policy
from proctor.policies.protocol import SpaceInfo
from proctor.registry import import_object
from proctor.testing import PolicyConformance

torch = pytest.importorskip("torch")

SOURCE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, inputs=4, hidden=8, outputs=3):
        super().__init__()
        last = nn.Linear(hidden, outputs)
        self.body = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Dropout(0.5), last)

    def forward(self, x):
        return torch.tanh(self.body(x))

class Noisy(Net):
    def forward(self, x, noise):
        return torch.tanh(self.body(x) + noise)

class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(4, 3)

    def initial_state(self):
        return torch.zeros(3), torch.zeros(3)

    def forward(self, x, state):
        h, c = self.cell(x, state)
        return h, (h, c)

class DictNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        return self.gain * x["a"] + x["b"]["c"]

class Same(nn.Module):
    def forward(self, x):
        return x

class Mixing(Net):
    def forward(self, x):
        y = self.body(x)
        return torch.tanh(y - y.mean(dim=0))

def not_a_module():
    return 3
"""
OBSERVATION = spaces.Box(-1, 1, (4,))
ACTION = spaces.Box(-1, 1, (3,))


@pytest.fixture
def base(tmp_path):
    (tmp_path / "nets.py").write_text(SOURCE)
    return tmp_path


def module(base, name, **kwargs):
    torch.manual_seed(0)
    return import_object(f"nets.py:{name}", base)(**kwargs).eval()


def load(base, checkpoint="m.pt", observation=OBSERVATION, action=ACTION, **options):
    agent = AgentCfg(name="net", policy="torch", checkpoint=checkpoint, options=options)
    return load_policy(agent, SpaceInfo({"task": observation}, {"task": action}), base)


def save_script(net, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(torch.jit.script(net), str(path))


@pytest.mark.parametrize("kind", ["state_dict", "nested", "safetensors", "torchscript", "pickled"])
def test_every_kind_of_checkpoint_gives_the_module_s_own_output(base, make_batch, kind):
    net, name, options = module(base, "Net"), "m.pt", {"module": "nets.py:Net"}
    if kind == "safetensors":
        from safetensors.torch import save_file

        name = "m.safetensors"
        save_file(net.state_dict(), base / name)
    elif kind == "nested":
        torch.save({"epoch": 3, "model": {"policy": net.state_dict()}}, base / name)
        options["state_dict_key"] = "model.policy"
    elif kind == "torchscript":
        save_script(net, base / name)
        options = {"trust": True}
    elif kind == "pickled":
        torch.save(net, base / name)
        options = {"trust": True}
    else:
        torch.save(net.state_dict(), base / name)
    x = np.random.default_rng(0).standard_normal((16, 4)).astype(np.float32)
    with torch.inference_mode():
        expected = net(torch.from_numpy(x)).numpy()
    assert np.array_equal(load(base, name, **options).act(make_batch(x)).actions, expected)


def test_kwargs_shape_the_module_and_a_wrong_shape_is_named(base):
    torch.save(module(base, "Net", hidden=5).state_dict(), base / "m.pt")
    load(base, module="nets.py:Net", kwargs={"hidden": 5})
    message = r"another architecture than Net: other shape: body.0.weight \(5, 4\) instead of \(8, 4\)"
    with pytest.raises(InputError, match=message):
        load(base, module="nets.py:Net")


def test_missing_and_unexpected_weights_are_listed_unless_not_strict(base):
    state = module(base, "Net").state_dict()
    state["extra"] = state.pop("body.0.bias")
    torch.save(state, base / "m.pt")
    with pytest.raises(InputError, match=r"missing: body.0.bias; unexpected: extra"):
        load(base, module="nets.py:Net")
    load(base, module="nets.py:Net", strict=False)


def test_a_nested_state_dict_says_which_keys_there_are(base):
    torch.save({"model": module(base, "Net").state_dict(), "step": 1}, base / "m.pt")
    with pytest.raises(InputError, match=r"options.state_dict_key, probably one of model"):
        load(base, module="nets.py:Net")
    with pytest.raises(InputError, match=r'there is no "net" \(found model, step\)'):
        load(base, module="nets.py:Net", state_dict_key="net")


class Evil:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return open, (self.marker, "w")


def test_pickles_are_not_unpickled_without_trust(base):
    marker = base / "ran"
    torch.save({"weights": Evil(str(marker))}, base / "m.pt")
    with pytest.raises(InputError, match=r"could run code .* set options.trust: true"):
        load(base, module="nets.py:Net")
    (base / "m.pth").write_bytes(pickle.dumps(Evil(str(marker))))
    with pytest.raises(InputError, match="could run code"):
        load(base, "m.pth", module="nets.py:Net")
    torch.save(module(base, "Net"), base / "m.pt")
    with pytest.raises(InputError, match=r"a pickled module can run code and needs options.trust: true"):
        load(base)
    assert not marker.exists()


def save_attack(path, marker):
    """TorchScript that writes a file of its choice as soon as it is loaded."""
    net = f'''
import torch
from typing import Tuple

class Attack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = torch.zeros(4, dtype=torch.uint8)

    @torch.jit.export
    def __getstate__(self) -> Tuple[bool]:
        return (self.training,)

    @torch.jit.export
    def __setstate__(self, state: Tuple[bool]) -> None:
        self.training = state[0]
        self.kept = torch.from_file("{marker}", shared=True, size=4, dtype=torch.uint8)
        self.kept.fill_(33)

    def forward(self, x):
        return x
'''
    (path.parent / "attack.py").write_text(net)
    save_script(import_object("attack.py:Attack", path.parent)(), path)


@pytest.mark.parametrize("options", [{}, {"torchscript": True}, {"module": "nets.py:Net"}])
def test_torchscript_is_not_loaded_without_trust(base, options):
    save_attack(base / "m.pt", base / "ran")
    with pytest.raises(InputError, match=r"is TorchScript, a program that runs .* set options.trust: true"):
        load(base, **options)
    assert not (base / "ran").exists()
    load(base, trust=True, **{key: value for key, value in options.items() if key != "module"})
    assert (base / "ran").read_bytes() == b"!!!!", "the attack is no attack"


@pytest.mark.parametrize("options", [{"torchscript": False, "module": "nets.py:Net"}, {"torchscript": False}])
def test_torchscript_that_is_said_to_be_weights_is_not_loaded_either(base, options):
    """torch.load hands such a file over to TorchScript where it may."""
    save_attack(base / "m.pt", base / "ran")
    with pytest.raises(InputError, match=r"options.trust: true"):
        load(base, **options)
    assert not (base / "ran").exists()


def test_torchscript_within_an_sb3_zip_is_not_loaded(base):
    pytest.importorskip("stable_baselines3")
    import gymnasium
    from stable_baselines3 import PPO

    task = gymnasium.make("Pendulum-v1")
    PPO("MlpPolicy", task, n_steps=8, batch_size=8).save(base / "good.zip")
    save_attack(base / "m.pt", base / "ran")
    with zipfile.ZipFile(base / "good.zip") as good, zipfile.ZipFile(base / "bad.zip", "w") as bad:
        for name in good.namelist():
            bad.writestr(name, (base / "m.pt").read_bytes() if name == "policy.pth" else good.read(name))
    agent = AgentCfg(name="a", policy="sb3", checkpoint="bad.zip")
    spaces_of_task = SpaceInfo({"task": task.observation_space}, {"task": task.action_space})
    with pytest.raises(InputError, match=r"policy.pth is not read as weights"):
        load_policy(agent, spaces_of_task, base)
    assert not (base / "ran").exists()


def test_weights_are_not_read_by_a_torch_that_would_run_them(base, monkeypatch):
    torch.save(module(base, "Net").state_dict(), base / "m.pt")
    monkeypatch.setattr(torch, "__version__", "2.5.1+cpu")
    with pytest.raises(InputError, match=r"before torch 2.6 a file of weights could run code, and this is torch 2.5.1"):
        load(base, module="nets.py:Net")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"module": "nets.py:not_a_module"}, "gave a int; expected a torch.nn.Module"),
        (
            {"module": "nets.py:Net", "kwargs": {"width": 3}},
            "cannot be called with options.kwargs: .*'width'",
        ),
        ({"torchscript": True, "trust": True}, "cannot be read as TorchScript"),
        ({"trust": True}, "holds a OrderedDict, not a module"),
    ],
)
def test_wrong_options_are_named(base, options, message):
    torch.save(module(base, "Net").state_dict(), base / "m.pt")
    with pytest.raises(InputError, match=message):
        load(base, **options)


def test_damaged_safetensors_are_named(base):
    (base / "m.safetensors").write_bytes(b"1234567890")
    with pytest.raises(InputError, match="cannot be read as safetensors"):
        load(base, "m.safetensors", module="nets.py:Net")


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cuda", r"not available here \(0 CUDA devices found\); use device: cpu"),
        ("gpu", "not known to torch"),
    ],
)
def test_devices_are_checked(base, monkeypatch, device, message):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    torch.save(module(base, "Net").state_dict(), base / "m.pt")
    agent = AgentCfg(name="a", policy="torch", checkpoint="m.pt", device=device, options={"module": "nets.py:Net"})
    with pytest.raises(InputError, match=message):
        load_policy(agent, SpaceInfo(), base)


def test_missing_torch_names_the_extra(base, monkeypatch):
    (base / "m.pt").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "torch", None)
    real = importlib.import_module

    def absent(name, *rest):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(MissingExtra, match=r'the torch loader needs the package "torch".*proctor\[torch\]'):
        load(base, module="nets.py:Net")


def test_dict_observations_reach_the_module_as_tensors(base, make_batch):
    torch.save(module(base, "DictNet").state_dict(), base / "m.pt")
    box = spaces.Box(-9, 9, (3,))
    space = spaces.Dict({"a": box, "b": spaces.Dict({"c": box})})
    batch = make_batch(np.zeros(2))
    batch.observation = {"a": np.ones((2, 3)), "b": {"c": np.full((2, 3), 0.5)}}
    assert (load(base, module="nets.py:DictNet", observation=space).act(batch).actions == 2.5).all()


def test_scores_become_choices(base, make_batch):
    torch.save(module(base, "Net").state_dict(), base / "m.pt")
    x = np.random.default_rng(0).standard_normal((16, 4)).astype(np.float32)
    raw = load(base, module="nets.py:Net").act(make_batch(x)).actions
    found = load(base, module="nets.py:Net", action=spaces.Discrete(3)).act(make_batch(x)).actions
    assert (found == raw.argmax(axis=1)).all()


def test_state_shape_stands_in_for_initial_state(base, make_batch):
    torch.save(module(base, "Memory").state_dict(), base / "m.pt")
    own = load(base, module="nets.py:Memory", recurrent=True)
    given = load(base, module="nets.py:Memory", recurrent=True, state_shape=[[3], [3]])
    batch = make_batch(np.ones((16, 4), np.float32))
    for left, right in zip(own.reset(batch.trials), given.reset(batch.trials), strict=True):
        assert left.shape == right.shape == (16, 3)
    torch.save(module(base, "Net").state_dict(), base / "m.pt")
    with pytest.raises(InputError, match=r"Net has no initial_state\(\)"):
        load(base, module="nets.py:Net", recurrent=True)


def test_loading_leaves_the_global_generator_alone(base):
    torch.save(module(base, "Net").state_dict(), base / "m.pt")
    before = torch.random.get_rng_state()
    load(base, module="nets.py:Net")
    assert torch.equal(torch.random.get_rng_state(), before)


def test_fingerprint_has_checkpoint_and_module_source(base):
    torch.save(module(base, "Net").state_dict(), base / "m.pt")
    agent = AgentCfg(name="a", policy="torch", checkpoint="m.pt", options={"module": "nets.py:Net"})
    assert set(fingerprint(agent, base)) == {"checkpoint", "source nets.py"}


LAWS = {
    "Net": {},
    "Noisy": {"noise": {"shape": [3]}},
    "Memory": {"recurrent": True},
    "Same": {},
}


@pytest.mark.parametrize("name", LAWS)
class TestLaws(PolicyConformance):
    observation_space = OBSERVATION
    action_space = ACTION

    @pytest.fixture(autouse=True)
    def _subject(self, base, name):
        self.base, self.name = base, name
        self.action_space = OBSERVATION if name == "Same" else ACTION
        torch.save(module(base, name).state_dict(), base / "m.pt")

    def make(self):
        return load(self.base, module=f"nets.py:{self.name}", action=self.action_space, **LAWS[self.name])


def test_a_module_that_mixes_rows_is_found_out(base):
    from proctor.policies.rows import row_dependence, sample_batch
    from proctor_host.trials import Trial

    torch.save(module(base, "Mixing").state_dict(), base / "m.pt")
    policy = load(base, module="nets.py:Mixing")
    batch = sample_batch(policy, OBSERVATION, [Trial("a", "task", i, i) for i in range(16)])
    assert "depends on" in (row_dependence(policy, batch) or "")


# Options that must not be overlooked ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{"module": "nets.py:Net"}, {"kwargs": {"hidden": 3}}, {"state_dict_key": "model"}, {"strict": False}],
)
def test_what_torchscript_or_a_pickled_module_would_ignore_is_refused(base, options):
    save_script(module(base, "Net"), base / "m.pt")
    (key,) = options
    with pytest.raises(InputError, match=f"is TorchScript, .* so options.{key} would be ignored; leave it out"):
        load(base, trust=True, **options)
    if key == "module":
        return
    torch.save(module(base, "Net"), base / "m.pt")
    with pytest.raises(InputError, match=f"is read as a pickled module, so options.{key} would be ignored"):
        load(base, trust=True, **options)


OUTPUTS = """
import torch
from torch import nn

class Several(nn.Module):
    def __init__(self, kind="tuple"):
        super().__init__()
        self.body, self.kind = nn.Linear(4, 3), kind

    def forward(self, x):
        actions, value = torch.tanh(self.body(x)), x.sum(1)
        several = {"tuple": (value, actions), "dict": {"value": value, "action": actions}, "list": [actions, value]}
        return several[self.kind]
"""


@pytest.mark.parametrize(("kind", "output"), [("tuple", 1), ("dict", "action"), ("list", 0)])
def test_one_output_of_several_is_picked(base, make_batch, kind, output):
    (base / "several.py").write_text(OUTPUTS)
    net = module(base, "Net").body[0].__class__(4, 3)
    torch.save({"body.weight": net.weight, "body.bias": net.bias}, base / "m.pt")
    given = {"module": "several.py:Several", "kwargs": {"kind": kind}}
    batch = make_batch(np.random.default_rng(0).uniform(-1, 1, (4, 4)).astype(np.float32))
    expected = torch.tanh(net(torch.from_numpy(batch.observation))).detach().numpy()
    assert np.array_equal(load(base, output=output, **given).act(batch).actions, expected)
    with pytest.raises(TypeError, match=r"say where the actions are: options.output"):
        load(base, **given).act(batch)
    with pytest.raises(
        TypeError, match=r"options.output is 7, but the module returned a (tuple of 2|list of 2|dict with)"
    ):
        load(base, output=7, **given).act(batch)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_the_module_is_cast_to_the_declared_dtype(base, make_batch, dtype):
    net = module(base, "Net")
    torch.save(net.state_dict(), base / "m.pt")
    observation = np.random.default_rng(0).uniform(-1, 1, (4, 4)).astype(np.float32)
    kind = getattr(torch, dtype)
    expected = net.to(kind).eval()(torch.from_numpy(observation).to(kind)).detach().to(torch.float64).numpy()
    actions = load(base, module="nets.py:Net", dtype=dtype).act(make_batch(observation)).actions
    assert np.array_equal(actions.astype(np.float64), expected)


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.95])
def test_a_damaged_file_is_not_to_be_trusted(base, kept):
    torch.save(module(base, "Net").state_dict(), base / "whole.bin")
    whole = (base / "whole.bin").read_bytes()
    (base / "m.pt").write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(InputError) as error:
        load(base, module="nets.py:Net")
    said = str(error.value).replace(str(base), "")
    assert "damaged" in said or "is not read as weights" in said
    assert "trust" not in said
