"""Each law of LoaderConformance finds what breaks it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from gymnasium import spaces

from proctor import Loader, Policy, PolicyOptions
from proctor.registry import LOADERS
from proctor.testing import LoaderConformance

SPACE = spaces.Box(-1, 1, (2,))


class Scaled(Policy):
    def __init__(self, gain):
        self.gain = gain

    def act(self, batch):
        return np.clip(batch.observation * self.gain, -1, 1)


class GainLoader(Loader):
    name: ClassVar[str] = "gain"

    class Options(PolicyOptions):
        gain: float = 0.5

    def load(self, agent, options, spaces, base):
        return Scaled(options.gain)


class TestGain(LoaderConformance):
    observation_space = action_space = SPACE
    options: ClassVar[dict[str, Any]] = {"gain": 0.25}

    def make_loader(self):
        return GainLoader()


class TestRandom(LoaderConformance):
    observation_space = action_space = SPACE

    def make_loader(self):
        return LOADERS.load("random")()


class Nameless(GainLoader):
    name = ""


class Colon(GainLoader):
    name = "my:gain"


class LoudSuffix(GainLoader):
    suffixes = (".ONNX",)


class OddNeeds(GainLoader):
    needs = ("torch",)


class Remembers(GainLoader):
    def load(self, agent, options, spaces, base):
        self.cache = Scaled(options.gain)
        return self.cache


class NoPolicy(GainLoader):
    def load(self, agent, options, spaces, base):
        return lambda batch: batch


class GoneFiles(GainLoader):
    def files(self, agent, options, base):
        from pathlib import Path

        return {"weights": Path("no_such_weights.bin")}


class Outside(GainLoader):
    def load(self, agent, options, spaces, base):
        return Scaled(1e9 * np.nan)


@pytest.mark.parametrize(
    ("broken", "law", "message"),
    [
        (Nameless, "test_declares_itself", "name is empty"),
        (Colon, "test_declares_itself", "is read as an import string"),
        (LoudSuffix, "test_declares_itself", "expected endings in small letters"),
        (OddNeeds, "test_declares_itself", "expected pairs of a package and an extra"),
        (Remembers, "test_loads_a_policy_and_keeps_nothing", "the loader keeps cache on itself"),
        (NoPolicy, "test_loads_a_policy_and_keeps_nothing", "load gave a function; expected a Policy"),
        (GoneFiles, "test_the_files_that_decide_are_named", "no_such_weights.bin, where there is no file"),
        (Outside, "test_actions_are_finite_and_in_the_action_space", "is not finite"),
    ],
)
def test_a_broken_loader_is_found(broken, law, message):
    class Laws(TestGain):
        def make_loader(self):
            return broken()

    with pytest.raises(AssertionError, match=message):
        getattr(Laws(), law)()


def test_a_checkpoint_that_no_file_stands_for_is_found(tmp_path):
    class Careless(GainLoader):
        def files(self, agent, options, base):
            return {}

    class Laws(TestGain):
        checkpoint = str(tmp_path / "weights.bin")

        def make_loader(self):
            return Careless()

    with pytest.raises(AssertionError, match="a changed one would go unnoticed"):
        Laws().test_the_files_that_decide_are_named()


def test_loose_options_are_found():
    class Laws(TestGain):
        options: ClassVar[dict[str, Any]] = {}

        def make_loader(self):
            class Loose(GainLoader):
                class Options(PolicyOptions):
                    model_config = {"extra": "ignore"}  # noqa: RUF012

            return Loose()

    with pytest.raises(AssertionError, match="takes unknown keys"):
        Laws().test_options_are_frozen_data()
