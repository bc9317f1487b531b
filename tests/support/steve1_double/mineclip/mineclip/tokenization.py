"""A tokenizer by name, from a folder or a hub, kept once it is there."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from typing import Any

import torch


def get_model_full_name(name: str) -> str:
    return {"clip": "openai/clip-vit-base-patch16"}.get(name, name)


@lru_cache
def get_tokenizer(name: str) -> Any:
    folder = get_model_full_name(name)
    if not os.path.isdir(folder):
        raise OSError(f"We couldn't connect to the hub to load {folder}.\nCheck your internet connection")
    with open(os.path.join(folder, "tokenizer_config.json")) as file:
        return json.load(file)


def tokenize_batch(texts: Any, max_length: int = 77) -> torch.Tensor:
    """As the original: at most 75 tokens (here: characters) of a text count, silently."""
    first = get_tokenizer("clip")["first"]
    listed = [texts] if isinstance(texts, str) else texts
    tokens = torch.zeros((len(listed), max_length), dtype=torch.long)
    for row, text in zip(tokens, listed, strict=True):
        kept = [ord(character) % 254 + 1 for character in text[: max_length - 2]]
        row[: len(kept) + 2] = torch.tensor([first, *kept, 255])
    return tokens
