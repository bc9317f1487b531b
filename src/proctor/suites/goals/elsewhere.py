"""Goal models that live in another interpreter: what stands for one here. `hosted` is the other end.

A model is loaded once however often a config names it: those with one target, one set of arguments, one device and one
runtime share a process, which ends when nobody holds it any more.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from proctor.config.models import RuntimeCfg
from proctor.errors import InputError
from proctor.policies.protocol import SpaceInfo
from proctor.rollout.hosted import Housing
from proctor.rollout.policy_host import Died, PolicyHost
from proctor.runtimes import locate
from proctor.suites.goals.protocol import GoalModel
from proctor_host.policies import generator, state_of

MAKE = "proctor.suites.goals.hosted:make"


class Link:
    """The way to a model's process, which is started again where it has died between calls. One call at a time."""

    def __init__(self, start: Callable[[], PolicyHost]):
        self._start, self._lock = start, threading.Lock()
        self._kept = [start()]
        weakref.finalize(self, _end, self._kept)
        self.about: dict[str, Any] = self._kept[0].greeting["about"]

    def ask(self, call: dict[str, Any]) -> dict[str, Any]:
        """The model's answer. Raises InputError with what it raised, or where its process died over it."""
        with self._lock:
            if self._kept[0].gone():
                _end(self._kept)
                self._kept[:] = [self._start()]
            try:
                return self._kept[0].call(call, dict)
            except Died as problem:
                raise InputError(
                    f"{problem}; it was asked for {call['call']}. A process that is killed has often run out of memory"
                ) from None


def _end(kept: list[PolicyHost]) -> None:
    for host in kept:
        host.end()


_LIVE: weakref.WeakValueDictionary[str, Link] = weakref.WeakValueDictionary()


def link_to(home: RuntimeCfg, target: str, kwargs: dict[str, Any], device: str, who: str) -> Link:
    """A link to the model of this target in a runtime: one that is there already, or a new one. Raises InputError where
    the runtime or the model cannot be used; `who` is the model in that sentence."""
    key = json.dumps([home.model_dump(mode="json"), target, kwargs, device], sort_keys=True, default=str)
    link = _LIVE.get(key)
    if link is None:
        options = {"target": target, "kwargs": kwargs, "device": device}
        told = {
            "make": MAKE, "agent": {"name": who}, "options": options, "observation": {}, "action": {}, "briefed": [],
            "who": who, "whose": "the goal model's",
        }  # fmt: skip
        link = Link(partial(PolicyHost, locate(home), told, SpaceInfo({}, {}), Housing()))
        _LIVE[key] = link
    return link


class HostedGoals(GoalModel):
    """A goal model at the other end of a link."""

    def __init__(self, link: Link):
        about = link.about
        self._link, self.name = link, str(about["name"])
        self.space, self.text_space = about["space"], about["text_space"]
        height, width = about["frame_size"]
        self.window, self.frame_size, self.fingerprint = about["window"], (height, width), about["fingerprint"]

    def embed_goal(self, texts: list[str], rng: np.random.Generator) -> np.ndarray:
        """The generator goes there and comes back, so that it is drawn from as if the model were here."""
        drawn = rng if isinstance(rng.bit_generator, np.random.PCG64) else np.random.default_rng(rng.integers(2**63))
        answer = self._link.ask({"call": "embed_goal", "texts": list(texts), "rng": state_of(drawn)})
        drawn.bit_generator.state = generator(answer["rng"]).bit_generator.state
        return answer["vectors"]

    def encode_frames(self, frames: np.ndarray) -> np.ndarray:
        return self._link.ask({"call": "encode_frames", "frames": frames})["vectors"]

    def encode_text(self, texts: list[str]) -> np.ndarray:
        return self._link.ask({"call": "encode_text", "texts": list(texts)})["vectors"]
