"""The laws of a config form."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar

from proctor.config.forms import ConfigForm
from proctor.config.load import config_from_dict
from proctor.config.models import EvalConfig
from proctor.config.problems import ConfigError, Problems
from proctor.testing.common import Conformance, check_part, without_error

OWN: dict[str, Any] = {"name": "mine", "agents": [{"policy": "random"}], "tasks": ["CartPole-v1"], "n_trials": 3}
"""A config in Proctor's own keys."""
ODD: tuple[dict[str, Any], ...] = ({}, {"agents": None}, {"tasks": 3}, {"agents": "x", "tasks": {"a": [1]}}, {"3": 4})
"""What a user may have written instead of a config."""


class FormConformance(Conformance[ConfigForm]):
    """Subclass, name it `Test...`, write `make`, and set `example` to a config in the form."""

    example: ClassVar[dict[str, Any]]
    base: ClassVar[Path | None] = None
    """The folder that relative paths of the example start from."""

    def test_declares_itself(self) -> None:
        check_part(self.make(), ConfigForm, "name")

    def test_recognises_its_own_and_nothing_else(self) -> None:
        form = self.make()
        assert form.recognises(deepcopy(self.example)), "the form does not recognise the example"
        assert not form.recognises(deepcopy(OWN)), f"the form takes a config of Proctor's own for its own: {OWN}"

    def test_odd_configs_are_no_error(self) -> None:
        """Every form is shown every config, also those that are wrong."""
        for odd in ODD:
            with without_error(f"recognises({odd})", "; expected True or False"):
                self.make().recognises(deepcopy(odd))

    def test_gives_proctor_s_own_keys(self) -> None:
        translated = self._translated()
        unknown = sorted(set(translated) - set(EvalConfig.model_fields))
        assert not unknown, f"the translation has the keys {', '.join(unknown)}, which no config has"
        assert not self.make().recognises(deepcopy(translated)), "the form recognises its own translation again"

    def test_the_translation_can_be_run(self) -> None:
        try:
            config_from_dict(self._translated(), self.base)
        except ConfigError as error:
            raise AssertionError(f"the translation of the example is no config: {error}") from None

    def test_the_same_config_gives_the_same_translation(self) -> None:
        assert self._translated() == self._translated(), "two translations of the example differ"

    def test_defaults_are_keys_of_a_run(self) -> None:
        for count in (1, 7):
            unknown = sorted(set(self.make().defaults(count)) - set(EvalConfig.model_fields))
            assert not unknown, f"defaults({count}) has the keys {', '.join(unknown)}, which no config has"

    def _translated(self) -> dict[str, Any]:
        problems = Problems("example")
        translated = self.make().translate(deepcopy(self.example), problems)
        assert not problems, "translate found problems in the example"
        assert isinstance(translated, dict), f"translate gave a {type(translated).__name__}; expected a dict"
        return translated
