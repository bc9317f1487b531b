"""The laws of a suite."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar

import pydantic

from proctor.suites.protocol import BatchEnv, Env, Suite, SuiteOptions
from proctor.testing.common import Conformance, check_needs, check_options_class, check_part, frozen


class SuiteConformance(Conformance[Suite]):
    """Subclass, name it `Test...`, and write `make`; `options` are those of a task to try. The laws of the environments
    themselves are in `EnvConformance` and `BatchEnvConformance`."""

    options: ClassVar[dict[str, Any]] = {}
    """As a config has them under `options`."""
    worlds: ClassVar[int] = 2
    """How many worlds a batch environment may have."""

    def test_declares_itself(self) -> None:
        suite = self.make()
        check_part(suite, Suite, "name")
        assert isinstance(suite.reusable, bool), f"reusable is {suite.reusable!r}; expected True or False"
        check_needs(suite.needs())

    def test_has_no_state(self) -> None:
        """Workers in other processes make the suite again by its name, so what is kept on the object would be lost."""
        suite = self.make()
        self._env(suite).close()
        assert not vars(suite), f"the suite keeps {', '.join(vars(suite))} on itself; put it into the options"

    def test_options_are_frozen_data(self) -> None:
        check_options_class(self.make().Options, SuiteOptions, self.options)

    def test_a_task_has_a_name_of_its_own(self) -> None:
        suite = self.make()
        options = self._options(suite)
        name = suite.task_name(options)
        assert isinstance(name, str), f"task_name gave a {type(name).__name__}; expected text"
        usable = bool(name) and "/" not in name and name.isprintable() and name == name.strip()
        assert usable, f'task_name gave {name!r}; expected a name without "/", control characters or blanks at its ends'
        assert self.make().task_name(options) == name, "task_name gives another name when it is asked again"

    def test_a_group_of_tasks_is_written_out_once(self) -> None:
        suite = self.make()
        tasks = suite.expand(dict(self.options))
        assert tasks, "expand gave no task for these options"
        for task in tasks:
            suite.Options.model_validate(task)
            again = suite.expand(dict(task))
            assert again == [task], f"expand gave {len(again)} tasks for one that it had written out itself"

    def test_default_trials_are_a_count(self) -> None:
        suite = self.make()
        count = suite.default_trials(self._options(suite))
        assert count is None or count >= 1, f"default_trials gave {count}; expected None or at least 1"

    def test_seeds_of_a_protocol_stay_when_trials_are_added(self) -> None:
        suite = self.make()
        few, more = (suite.trial_seeds(self._options(suite), n) for n in (2, 5))
        if few is None or more is None:
            assert few is more, "trial_seeds gives seeds for some numbers of trials and none for others"
            return
        assert (len(few), len(more)) == (2, 5), f"trial_seeds gave {len(few)} and {len(more)} seeds for 2 and 5 trials"
        assert list(more[:2]) == list(few), "trial_seeds gives the first trials other seeds when more are planned"
        assert len(set(more)) == 5, "trial_seeds gives a seed twice"
        assert all(0 <= seed < 2**64 for seed in more), "trial_seeds gives a seed that is not from 0 to 2**64 - 1"

    def test_an_index_decides_nothing_where_the_seed_does(self) -> None:
        suite = self.make()
        if not suite.begins_by_seed(self._options(suite)):
            return
        with contextlib.closing(self._env(suite)) as env:
            first, second = (
                frozen(env.reset([0], [3], [index])[0] if isinstance(env, BatchEnv) else env.reset(3, index))
                for index in (0, 7)
            )
            assert first == second, "begins_by_seed is true, and another index begins another trial"

    def test_makes_what_it_says(self) -> None:
        suite = self.make()
        with contextlib.closing(self._env(suite)) as env:
            expected = BatchEnv if suite.is_batch(self._options(suite)) else Env
            made = type(env).__name__
            assert isinstance(env, expected), f"make gave a {made}; is_batch says that it gives a {expected.__name__}"
            if isinstance(env, BatchEnv):
                fits = 1 <= env.num_worlds <= self.worlds
                assert fits, f"{self.worlds} worlds were allowed, and {env.num_worlds} were made"

    def test_the_same_options_make_the_same_spaces(self) -> None:
        with contextlib.closing(self._env(self.make())) as first, contextlib.closing(self._env(self.make())) as second:
            for name in ("observation_space", "action_space"):
                one, two = getattr(first, name), getattr(second, name)
                assert one == two, f"two environments of one task have different {name}s: {one} and {two}"

    def _options(self, suite: Suite) -> Any:
        try:
            return suite.complete(suite.Options.model_validate(self.options))
        except pydantic.ValidationError as error:
            raise AssertionError(f"set `options` to those of a task: {error}") from None

    def _env(self, suite: Suite) -> Env | BatchEnv:
        return suite.make(self._options(suite), render=False, worlds=self.worlds)
