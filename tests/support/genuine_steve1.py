"""Runs in an interpreter that has MineCLIP's and STEVE-1's code: makes checkpoint files with their own classes and
random weights, and answers as their own functions do. What is asked for comes as JSON on the command line.

CLIP's tokenizer is written from the vocabulary that the package open_clip_torch carries, in the layout of transformers.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import sys
import types

import numpy as np
import torch

CONFIG = {
    "arch": "vit_base_p16_fz.v2.t2", "hidden_dim": 512, "image_feature_dim": 512, "mlp_adapter_spec": "v0-2.t0",
    "pool_type": "attn.d2.nh8.glusw", "resolution": [160, 256],
}  # fmt: skip


def write_tokenizer(folder: str) -> None:
    spec = importlib.util.find_spec("open_clip")
    with gzip.open(os.path.join(os.path.dirname(spec.origin), "bpe_simple_vocab_16e6.txt.gz"), "rt") as file:
        merges = file.read().split("\n")[1 : 49152 - 256 - 1]
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(code) for code in printable]
    letters += [chr(256 + n) for n in range(256 - len(printable))]  # bytes that cannot be shown, in their order
    words = [*letters, *(f"{letter}</w>" for letter in letters), *("".join(pair.split()) for pair in merges)]
    words += ["<|startoftext|>", "<|endoftext|>"]
    assert len(words) == 49408
    os.makedirs(folder, exist_ok=True)
    named = {"bos_token": words[-2], "eos_token": words[-1], "unk_token": words[-1], "pad_token": words[-1]}
    files = {
        "vocab.json": json.dumps({word: number for number, word in enumerate(words)}),
        "merges.txt": "#version: 0.2\n" + "\n".join(merges) + "\n",
        "tokenizer_config.json": json.dumps({"tokenizer_class": "CLIPTokenizer", "model_max_length": 77, **named}),
        "config.json": json.dumps({"model_type": "clip"}),
    }
    for name, text in files.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


def classes(tokenizer: str):
    """MineCLIP's class and STEVE-1's prior, with the environments that their packages import left out."""
    sys.modules["mineclip"] = package = importlib.util.module_from_spec(importlib.util.find_spec("mineclip"))
    from mineclip.mineclip import MineCLIP, tokenization
    from steve1.data.text_alignment.vae import TranslatorVAE

    package.MineCLIP = MineCLIP
    tokenization.get_model_full_name = lambda name: tokenizer
    return MineCLIP, TranslatorVAE


def make(folder: str) -> None:
    write_tokenizer(os.path.join(folder, "tokenizer"))
    MineCLIP, TranslatorVAE = classes(os.path.join(folder, "tokenizer"))
    torch.manual_seed(0)
    clip, prior = MineCLIP(**CONFIG), TranslatorVAE(input_dim=512, hidden_dim=512, latent_dim=512)
    weights = {f"model.{name}": value for name, value in clip.state_dict().items()}
    torch.save({"state_dict": weights}, os.path.join(folder, "attn.pth"))
    torch.save(prior.state_dict(), os.path.join(folder, "steve1_prior.pt"))


def ask(folder: str, texts: list, seeds: list, frames: str, out: str) -> None:
    """What STEVE-1's own `load`, `load_vae_model` and `get_prior_embed` give."""
    classes(os.path.join(folder, "tokenizer"))
    import hashlib

    if importlib.util.find_spec("minerl") is None:  # on no registry; what is used here calls nothing of it
        sys.modules["minerl"] = types.ModuleType("minerl")
    from steve1.data.text_alignment.vae import load_vae_model
    from steve1.mineclip_code.load_mineclip import load
    from steve1.utils.embed_utils import get_prior_embed

    path = os.path.join(folder, "attn.pth")
    with open(path, "rb") as file:
        checksum = hashlib.md5(file.read()).hexdigest()
    clip = load({**CONFIG, "ckpt": {"path": path, "checksum": checksum}}, "cpu")
    prior_path = os.path.join(folder, "steve1_prior.pt")
    prior = load_vae_model({"mineclip_dim": 512, "latent_dim": 512, "hidden_dim": 512, "model_path": prior_path})
    goals = []
    for text, seed in zip(texts, seeds):  # noqa: B905 - Python 3.9
        torch.manual_seed(seed)
        goals.append(get_prior_embed(text, clip, prior, "cpu")[0])
    windows = torch.from_numpy(np.load(frames)).permute(0, 1, 4, 2, 3).contiguous()
    with torch.no_grad():
        seen, words = clip.encode_video(windows).numpy(), clip.encode_text(texts).numpy()
    np.savez(out, goals=np.stack(goals), seen=seen, words=words)


if __name__ == "__main__":
    verb, arguments = sys.argv[1], json.loads(sys.argv[2])
    {"make": make, "ask": ask}[verb](**arguments)
