"""Each law of FormConformance finds what breaks it."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from proctor import ConfigForm
from proctor.registry import FORMS
from proctor.testing import FormConformance


class Exam(ConfigForm):
    """`{exam: {who: random, where: CartPole-v1}}`."""

    name: ClassVar[str] = "exam"

    def recognises(self, data):
        return isinstance(data.get("exam"), dict)

    def translate(self, data, problems):
        exam = data["exam"]
        return {"agents": [{"policy": exam["who"]}], "tasks": [exam["where"]]}

    def defaults(self, n_tasks):
        return {"num_parallel": n_tasks}


class TestExam(FormConformance):
    example: ClassVar[dict[str, Any]] = {"exam": {"who": "random", "where": "CartPole-v1"}}

    def make(self):
        return Exam()


class TestBenchmark(FormConformance):
    example: ClassVar[dict[str, Any]] = {
        "agents": [{"name": "a", "policy": "random", "tool": "angled_standard"}],
        "anatomy": {"type": "aortic_arch", "arch_type": "I", "target_branches": ["lcca"]},
    }

    def make(self):
        return FORMS.load("endovascular")()


class TestParallel(FormConformance):
    example: ClassVar[dict[str, Any]] = {
        "agents": [{"policy": "random"}],
        "tasks": [{"suite": "gymnasium", "options": {"id": "CartPole-v1"}}],
        "num_trials_per_task": 5,
        "num_steps_wait": 2,
    }

    def make(self):
        return FORMS.load("libero")()


class Nameless(Exam):
    name = ""


class Greedy(Exam):
    def recognises(self, data):
        return True


class Blind(Exam):
    def recognises(self, data):
        return False


class Trusting(Exam):
    def recognises(self, data):
        return len(data.get("agents", ())) == 0 and "exam" in data


class LeavesKeys(Exam):
    def translate(self, data, problems):
        return {**data, **super().translate(data, problems)}


class Again(Exam):
    def recognises(self, data):
        return "exam" in data or data.get("name") == "exam"

    def translate(self, data, problems):
        return {"name": "exam", **super().translate(data, problems)}


class NoAgents(Exam):
    def translate(self, data, problems):
        return {"tasks": [data["exam"]["where"]]}


class Counts(Exam):
    seeds = iter(range(99))

    def translate(self, data, problems):
        return {**super().translate(data, problems), "base_seed": next(self.seeds)}


class OddDefaults(Exam):
    def defaults(self, n_tasks):
        return {"parallel": n_tasks}


class Complains(Exam):
    def translate(self, data, problems):
        problems.add(("exam",), "too hard")
        return super().translate(data, problems)


class Nothing(Exam):
    def translate(self, data, problems):
        return None


OWN = "test_recognises_its_own_and_nothing_else"


@pytest.mark.parametrize(
    ("broken", "law", "message"),
    [
        (Nameless, "test_declares_itself", "name is empty"),
        (Greedy, OWN, "takes a config of Proctor's own for its own"),
        (Blind, OWN, "does not recognise the example"),
        (Trusting, "test_odd_configs_are_no_error", "recognises.* raised TypeError"),
        (LeavesKeys, "test_gives_proctor_s_own_keys", "has the keys exam, which no config has"),
        (Again, "test_gives_proctor_s_own_keys", "recognises its own translation again"),
        (NoAgents, "test_the_translation_can_be_run", "is no config: .*agents: missing"),
        (Counts, "test_the_same_config_gives_the_same_translation", "two translations of the example differ"),
        (OddDefaults, "test_defaults_are_keys_of_a_run", "has the keys parallel, which no config has"),
        (Complains, "test_the_translation_can_be_run", "translate found problems in the example"),
        (Nothing, "test_the_translation_can_be_run", "translate gave a NoneType; expected a dict"),
    ],
)
def test_a_broken_form_is_found(broken, law, message):
    class Laws(TestExam):
        def make(self):
            return broken()

    with pytest.raises(AssertionError, match=r"(?s)" + message):
        getattr(Laws(), law)()
