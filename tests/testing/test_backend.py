"""Each law of BackendConformance finds what breaks it."""

from __future__ import annotations

import pytest

from proctor.rollout.backends.base import BackendOptions
from proctor.rollout.backends.inline import InlineBackend, InlineWorker
from proctor.rollout.backends.process import ProcessBackend
from proctor.testing import BackendConformance
from proctor_host.episode import Outcome
from proctor_host.messages import Fault


class TestInline(BackendConformance):
    kind = "inline"


class TestProcess(BackendConformance):
    kind = "process"


class Nameless(InlineBackend):
    name = ""


class Loose(InlineBackend):
    class Options(BackendOptions):
        model_config = {"extra": "ignore"}  # noqa: RUF012


class TooFew(InlineBackend):
    def shares(self, slots, count):
        return [max(slots - 1, 1)]


class Idle(InlineBackend):
    def shares(self, slots, count):
        return [slots, 0]


class HalvingWorker(InlineWorker):
    def run(self, slots, chunks):
        super().run(slots, chunks / 2)


class Halving(InlineBackend):
    def hire(self, slots):
        return HalvingWorker(self.cfg, slots)


class MistakenWorker(InlineWorker):
    """Takes what a world raised for a time limit."""

    def events(self):
        found = super().events()
        return [event._replace(outcome=Outcome.TIMEOUT) if isinstance(event, Fault) else event for event in found]


class Mistaken(InlineBackend):
    def hire(self, slots):
        return MistakenWorker(self.cfg, slots)


class OnlyOnce(ProcessBackend):
    """Cannot replace a worker."""

    hired = 0

    def hire(self, slots):
        self.hired += 1
        if self.hired > 2:
            raise RuntimeError("there is nobody left")
        return super().hire(slots)


@pytest.mark.parametrize(
    ("broken", "law", "message"),
    [
        (Nameless, "test_declares_itself", "name is empty"),
        (Loose, "test_declares_itself", "takes unknown keys"),
        (TooFew, "test_every_slot_has_a_worker", r"shares\(2, None\) gave \[1\]; expected 2 slots in all"),
        (Idle, "test_every_slot_has_a_worker", "a worker without slots has nothing to do"),
        (Halving, "test_records_are_equal_to_those_of_the_caller_s_process", "has another record|ended as"),
        (Mistaken, "test_a_world_that_raises_costs_its_own_trial", "ended its trial as timeout; expected env_error"),
        (OnlyOnce, "test_a_world_that_kills_its_worker_costs_one_attempt", "raised .*there is nobody left"),
        (OnlyOnce, "test_a_world_that_hangs_costs_its_own_trial", "raised .*there is nobody left"),
    ],
)
def test_a_broken_backend_is_found(broken, law, message):
    class Laws(BackendConformance):
        kind = f"{__file__}:{broken.__name__}"

    with pytest.raises(AssertionError, match=message):
        getattr(Laws(), law)()
