"""MineCLIP and STEVE-1's prior from their checkpoint files, by their own classes.

Runs in an interpreter that has their code, MineDojo/MineCLIP and Shalev-Lifshitz/STEVE-1, on its path. Neither package
is run as a whole: theirs also import simulators (MineDojo, MineRL, an old Gym) that want Java and an old Python, and
that an encoder does not need.

What the files do not say is taken from the published configuration of MineCLIP; sizes of the prior follow from its
weights. Files are read as weights only: nothing in them is run.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from typing import Any

from proctor.errors import InputError, optional

PUBLISHED = {
    "arch": "vit_base_p16_fz.v2.t2",
    "hidden_dim": 512,
    "image_feature_dim": 512,
    "mlp_adapter_spec": "v0-2.t0",
    "resolution": [160, 256],
}
POOLING = {"attn": "attn.d2.nh8.glusw", "avg": "avg"}
"""Of the two published checkpoints: `attn.pth` and `avg.pth`."""
PREFIX = "model."
"""Of the names of weights in a checkpoint of MineCLIP."""
PRIOR_PART = "decoder.0.weight"
INSTALL = (
    "install it with: proctor runtimes install steve1 --option mineclip=CHECKOUT --option steve1=CHECKOUT, and write "
    "runtime: steve1"
)


def load_mineclip(path: str, device: str, config: Mapping[str, Any] | None, tokenizer: str | None) -> tuple[Any, str]:
    """MineCLIP with the weights of a checkpoint, ready to encode, and how it pools frames: `attn` or `avg`. `config`:
    what differs from the published configuration. `tokenizer`: a folder with the files of CLIP's tokenizer (None: the
    one that MineCLIP names, from the cache of transformers or from the network)."""
    weights = _read(path).get("state_dict")
    named = isinstance(weights, Mapping) and any(str(key).startswith(PREFIX) for key in weights)
    if not named:
        raise InputError(f"{path} is no checkpoint of MineCLIP: it has no state_dict of names that begin with {PREFIX}")
    pooling = "attn" if any(key.startswith(f"{PREFIX}temporal_encoder.attn.") for key in weights) else "avg"
    options = {**PUBLISHED, "pool_type": POOLING[pooling], **(config or {})}
    package = _package("mineclip", "MineCLIP (github.com/MineDojo/MineCLIP)")
    classes = _module("mineclip.mineclip.mineclip", "MineCLIP")
    vars(package).setdefault("MineCLIP", classes.MineCLIP)  # STEVE-1's own modules import it from there
    if tokenizer is not None:
        _use_tokenizer(tokenizer)
    try:
        model = classes.MineCLIP(**options)
    except (AssertionError, TypeError, ValueError) as error:
        raise InputError(f"MineCLIP does not take this config ({options}): {_first(error)}") from error
    try:
        model.load_ckpt({"state_dict": weights}, strict=True)
    except RuntimeError as error:
        raise InputError(f"the weights in {path} do not fit MineCLIP ({options}): {_first(error)}") from error
    return model.to(device).eval(), pooling


def load_prior(path: str, device: str) -> Any:
    """STEVE-1's prior, a TranslatorVAE, with the weights of a file; its sizes are theirs."""
    weights = _read(path)
    if PRIOR_PART not in weights or "decoder.6.weight" not in weights:
        raise InputError(f"{path} is no checkpoint of STEVE-1's prior: it has no {PRIOR_PART}")
    hidden, into = weights[PRIOR_PART].shape
    dim = weights["decoder.6.weight"].shape[0]
    _package("steve1", "STEVE-1 (github.com/Shalev-Lifshitz/STEVE-1)")
    made = _module("steve1.data.text_alignment.vae", "STEVE-1").TranslatorVAE(dim, hidden, into - dim)
    try:
        made.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(f"the weights in {path} do not fit STEVE-1's prior: {_first(error)}") from error
    return made.to(device).eval()


def print_of(path: str) -> str:
    """SHA-256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            digest.update(part)
    return digest.hexdigest()


def _read(path: str) -> Any:
    """A file of torch's as plain data and weights."""
    torch = optional("torch", "a MineCLIP goal model", "torch")
    if not os.path.isfile(path):
        raise InputError(f"no file {path}; name the checkpoint in kwargs, with a path that begins with ./")
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise InputError(
            f"{path} cannot be read as a file of weights: {_first(error)}; save it again as a state_dict"
        ) from error
    if not isinstance(found, Mapping):
        raise InputError(f"{path} holds a {type(found).__name__}; expected a mapping of weights")
    return found


def _package(name: str, what: str) -> Any:
    """Somebody's package on the path, without running it."""
    if name not in sys.modules:
        spec = importlib.util.find_spec(name)
        if spec is None:
            raise InputError(f"the goal model mineclip needs {what} on the path of {sys.executable}; {INSTALL}")
        sys.modules[name] = importlib.util.module_from_spec(spec)
    return sys.modules[name]


def _module(name: str, what: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise InputError(
            f'{what} needs the package "{error.name}" in {sys.executable}; install it with: '
            f"{sys.executable} -m pip install {error.name}"
        ) from error


def _use_tokenizer(folder: str) -> None:
    """Have MineCLIP take its tokenizer from a folder instead of by its name."""
    if not os.path.isfile(os.path.join(folder, "tokenizer_config.json")):
        raise InputError(f"{folder} has no tokenizer_config.json; expected a folder of openai/clip-vit-base-patch16")
    tokenization = _module("mineclip.mineclip.tokenization", "MineCLIP")
    tokenization.get_model_full_name = lambda name: folder
    tokenization.get_tokenizer.cache_clear()


def _first(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
