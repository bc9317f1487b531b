"""The conformance test of worlds on a device holds for the toys, and finds each law broken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from on_device import DeviceOptions, DeviceToys  # noqa: E402

from proctor.testing import BatchEnvConformance, DeviceEnvConformance  # noqa: E402


class TestDeviceToys(DeviceEnvConformance, BatchEnvConformance):
    def make(self) -> DeviceToys:
        return DeviceToys(DeviceOptions(keys=True), 4)

    def spoil(self, env: Any, world: int) -> bool:
        env.x[world] = torch.nan
        return True


class Crowded(DeviceToys):
    """World 0 pulls at all others."""

    def step_device(self, actions: Any) -> Any:
        columns = super().step_device(actions)
        self.x += self.x[:1] * 1e-3
        return columns


class Forgetful(DeviceToys):
    """Begins everything anew, whatever is asked for."""

    def begin_device(self, worlds: Any, seeds: Any, indices: Any) -> Any:
        seen = super().begin_device(worlds, seeds, indices)
        self.x[worlds[-1] :] *= 0.5
        return seen


class Greedy(DeviceToys):
    def step_device(self, actions: Any) -> Any:
        columns = super().step_device(actions)
        actions.zero_()
        return columns


class Fickle(DeviceToys):
    def step_device(self, actions: Any) -> Any:
        columns = super().step_device(actions)
        if self.steps == 2:
            columns.signals["count"] = columns.signals["count"].to(torch.int32)
        return columns


class Numbered(DeviceToys):
    def step_device(self, actions: Any) -> Any:
        columns = super().step_device(actions)
        return columns._replace(truncated=columns.truncated.float())


class Mixed(DeviceToys):
    """Shows the host something else."""

    def step_columns(self, worlds: Any, actions: np.ndarray) -> Any:
        columns = super().step_columns(worlds, actions)
        return columns._replace(reward=columns.reward.astype(np.float64))


@pytest.mark.parametrize(
    ("kind", "law", "said"),
    [
        (Crowded, "what_one_world_does_leaves_the_others_alone", "the last world goes on otherwise"),
        (Forgetful, "beginning_some_worlds_leaves_the_others_alone", "the last world goes on otherwise"),
        (Forgetful, "begin_shows_the_others_as_they_are", "otherwise than the step before"),
        (Greedy, "actions_are_not_changed", "step_device changed the actions"),
        (Fickle, "every_step_has_the_same_kinds_on_the_device", "step 2 has"),
        (Numbered, "every_step_has_the_same_kinds_on_the_device", "expected a bool each"),
        (Mixed, "columns_on_the_device_are_those_of_the_host", "reward differs"),
    ],
)
def test_what_is_broken_is_found(kind: type[DeviceToys], law: str, said: str) -> None:
    class Broken(DeviceEnvConformance):
        def make(self) -> DeviceToys:
            return kind(DeviceOptions(), 4)

    with pytest.raises(AssertionError, match=said):
        getattr(Broken(), f"test_{law}")()


def test_an_environment_that_is_not_exact_may_differ_a_little() -> None:
    class Rounded(DeviceToys):
        def step_columns(self, worlds: Any, actions: np.ndarray) -> Any:
            columns = super().step_columns(worlds, actions)
            return columns._replace(reward=columns.reward * np.float32(1 + 1e-6))

    class Laws(DeviceEnvConformance):
        def make(self) -> DeviceToys:
            return Rounded(DeviceOptions(exact=False), 4)

    Laws().test_columns_on_the_device_are_those_of_the_host()
