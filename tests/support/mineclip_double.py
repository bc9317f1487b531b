"""Doubles of MineCLIP and of STEVE-1's prior: a tree of packages as their checkouts are, and checkpoint files as their
classes save them. Its classes do what the genuine ones did (tests/suites/goals/test_genuine_steve1.py)."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

CHECKOUT = Path(__file__).parent / "steve1_double"
PUBLISHED = {
    "arch": "vit_base_p16_fz.v2.t2", "hidden_dim": 512, "image_feature_dim": 512, "mlp_adapter_spec": "v0-2.t0",
    "resolution": [160, 256],
}  # fmt: skip


def _of(file: str, package: str) -> Any:
    """A module of the tree, without its package."""
    name = f"{package}.{Path(file).stem}"
    if name not in sys.modules:
        folder = CHECKOUT / Path(file).parent
        parent = importlib.util.module_from_spec(
            importlib.machinery.ModuleSpec(package, None, is_package=True)  # pyright: ignore[reportAttributeAccessIssue]
        )
        parent.__path__ = [str(folder)]
        sys.modules.setdefault(package, parent)
        spec = importlib.util.spec_from_file_location(name, CHECKOUT / file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def mineclip(pool_type: str = "attn.d2.nh8.glusw") -> Any:
    return _of("mineclip/mineclip/mineclip.py", "mineclip_double_package").MineCLIP(**PUBLISHED, pool_type=pool_type)


def translator(latent_dim: int = 48) -> Any:
    vae = _of("steve1/data/text_alignment/vae.py", "steve1_double_package")
    return vae.TranslatorVAE(input_dim=512, hidden_dim=64, latent_dim=latent_dim)


def use_tokenizer(folder: Path) -> None:
    """Have the double that is here, beside the tests, take its tokenizer from a folder."""
    module = _of("mineclip/mineclip/tokenization.py", "mineclip_double_package")
    module.get_model_full_name = lambda name: str(folder)
    module.get_tokenizer.cache_clear()


def write_tokenizer(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer_config.json").write_text(json.dumps({"first": 254}))
    return folder


def write_checkpoints(folder: Path, pool_type: str = "attn.d2.nh8.glusw") -> dict[str, str]:
    """The files of both models, and a tokenizer: the arguments of the goal model `mineclip`."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        clip, prior = mineclip(pool_type), translator()
    state = {f"model.{name}": value for name, value in clip.state_dict().items()}
    torch.save({"state_dict": state}, folder / "attn.pth")
    torch.save(prior.state_dict(), folder / "steve1_prior.pt")
    return {
        "mineclip": str(folder / "attn.pth"),
        "prior": str(folder / "steve1_prior.pt"),
        "tokenizer": str(write_tokenizer(folder / "tokenizer")),
    }


def get_prior_embed(text: str, mineclip: Any, prior: Any, device: Any) -> np.ndarray:
    """With the signature and the detours of STEVE-1's."""
    text_embed = mineclip.encode_text(text).detach().cpu().numpy()
    with torch.no_grad():
        return prior(torch.tensor(text_embed).float().to(device)).cpu().detach().numpy()


def load(device: str) -> tuple[Any, Any]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return mineclip().to(device), translator().to(device)


def load_one(device: str) -> Any:
    return mineclip()
