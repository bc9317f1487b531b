"""Goal models in the manner of STEVE-1: MineCLIP encodes text and video, a prior turns the one into the other.

MineCLIP's video encoder sees 16 frames of 160 x 256 at once: `encode_video(float (n, 16, 3, 160, 256))`, values from 0
to 255, gives (n, 512). `encode_text(text)` gives (1, 512) in the text's own space. The prior is a module on such a text
embedding, or a function `get_prior_embed(text, mineclip, prior, device)`.

These models draw from torch's global generator. Here it is seeded from the generator that is handed in, for the time of
the call, and put back afterwards.

`weights` makes the two of their own classes and checkpoint files, in an interpreter that has their code. This module
needs numpy and torch alone, so that it can live there, too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from proctor.errors import InputError, optional
from proctor.registry import import_object
from proctor.suites.goals.protocol import GoalModel

WINDOW, FRAME_SIZE = 16, (160, 256)
WINDOWS_AT_ONCE = 8
"""63 MB of frames."""

PriorEmbed = Callable[[str, Any, Any, Any], Any]
CHECKPOINTS = (
    "the goal model mineclip needs the checkpoint files of both models, kwargs: {mineclip: ./attn.pth, prior: "
    "./steve1_prior.pt}, or kwargs: {load: ./mine.py:load}, a function of yours that gives both"
)


class MineClipGoals(GoalModel):
    """`mineclip` and `prior` as above, on `device`. `get_prior_embed` None: the prior is called with the text
    embedding. `space` names the weights."""

    window, frame_size = WINDOW, FRAME_SIZE

    def __init__(self, mineclip: Any, prior: Any, device: str, get_prior_embed: PriorEmbed | None, space: str):
        self._torch = _torch()
        self._mineclip, self._prior, self._device = mineclip, prior, device
        self._get_prior_embed = get_prior_embed or _prior_embed
        self.space, self.text_space = f"{space}/video", f"{space}/text"

    def embed_goal(self, texts: list[str], rng: np.random.Generator) -> np.ndarray:
        """Goals (n, d), float32; texts are asked one by one, each with a seed of its own from `rng`."""
        rows = []
        for text in texts:
            with _seeded(self._torch, int(rng.integers(2**63))):
                rows.append(_row(self._get_prior_embed(text, self._mineclip, self._prior, self._device), "the prior"))
        return np.stack(rows)

    def encode_frames(self, frames: np.ndarray) -> np.ndarray:
        """Embeddings (n, d), float32."""
        torch, found = self._torch, []
        for first in range(0, len(frames), WINDOWS_AT_ONCE):
            part = np.ascontiguousarray(frames[first : first + WINDOWS_AT_ONCE].transpose(0, 1, 4, 2, 3))
            with torch.no_grad():
                encoded = self._mineclip.encode_video(torch.from_numpy(part).float().to(self._device))
            found.append(_array(encoded))
        return np.concatenate(found)

    def encode_text(self, texts: list[str]) -> np.ndarray:
        """Embeddings (n, d), float32, in the text's space."""
        with self._torch.no_grad():
            return np.stack([_row(self._mineclip.encode_text(text), "the text encoder") for text in texts])


def mineclip_goals(
    device: str = "cpu",
    mineclip: str | None = None,
    prior: str | None = None,
    load: str | None = None,
    get_prior_embed: str | None = None,
    space: str | None = None,
    **more: Any,
) -> MineClipGoals:
    """The goal model `mineclip` of a config. `mineclip` and `prior` are the checkpoint files of MineCLIP and of
    STEVE-1's prior; `config` and `tokenizer` in `more` are told to `weights`. Or `load` is an import string to a
    function of yours that is called with `device` and gives (mineclip, prior) with their weights. `get_prior_embed` is
    one to a function such as STEVE-1's `steve1.utils.embed_utils:get_prior_embed`. `space` names the weights (None:
    `mineclip`, or `mineclip-attn` and `mineclip-avg` by how the checkpoint pools frames)."""
    function = None if get_prior_embed is None else import_object(get_prior_embed)
    if load is None:
        if mineclip is None or prior is None:
            raise InputError(CHECKPOINTS)
        return _of_files((mineclip, prior), device, function, space, more)
    if mineclip is not None or prior is not None or more:
        raise InputError(f"{load} gives both models with their weights; leave out the other kwargs, or leave out load")
    made = import_object(load)(device=device)
    if not isinstance(made, tuple) or len(made) != 2:
        raise InputError(f"{load} gave a {type(made).__name__}; expected two models: (mineclip, prior)")
    return MineClipGoals(*made, device, function, space or "mineclip")


def _of_files(
    files: tuple[str, str], device: str, function: PriorEmbed | None, space: str | None, more: Mapping[str, Any]
) -> MineClipGoals:
    from proctor.suites.goals.weights import load_mineclip, load_prior, print_of

    unknown = sorted(set(more) - {"config", "tokenizer"})
    if unknown:
        raise InputError(
            f"the goal model mineclip has no argument {unknown[0]}; it takes mineclip, prior, config, tokenizer, load, "
            "get_prior_embed and space"
        )
    model, pooling = load_mineclip(os.fspath(files[0]), device, more.get("config"), more.get("tokenizer"))
    prior = load_prior(os.fspath(files[1]), device)
    made = MineClipGoals(model, prior, device, function, space or f"mineclip-{pooling}")
    made.fingerprint = print_of(files[0])
    return made


def _prior_embed(text: str, mineclip: Any, prior: Any, device: Any) -> Any:
    with _torch().no_grad():
        return prior(mineclip.encode_text(text).float().to(device))


def _array(given: Any) -> np.ndarray:
    """A tensor or an array as float32: half precision says no more."""
    made = given if isinstance(given, np.ndarray) else given.detach().float().cpu().numpy()
    return made.astype(np.float32, copy=False)


def _row(given: Any, who: str) -> np.ndarray:
    array = _array(given)
    if array.ndim not in (1, 2) or (array.ndim == 2 and len(array) != 1):
        raise InputError(f"{who} gave {array.shape} for one text; expected (1, d)")
    return array.reshape(-1)


@contextlib.contextmanager
def _seeded(torch: Any, seed: int) -> Iterator[None]:
    devices = range(torch.cuda.device_count()) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def _torch() -> Any:
    return optional("torch", "a MineCLIP goal model", "torch")
