from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from vla_eval.recording import NullEpisodeRecorder


@dataclass
class StepResult:
    obs: Any
    reward: float
    done: bool
    info: dict[str, Any]


class Benchmark(ABC):
    render_backends: ClassVar[frozenset[str]] = frozenset({"gpu"})

    @classmethod
    def configure_render(cls, mode: str) -> dict[str, str]:
        if mode != "gpu":
            raise NotImplementedError(mode)
        return {}

    @abstractmethod
    def get_tasks(self) -> list[dict[str, Any]]: ...

    @abstractmethod
    async def start_episode(self, task: dict[str, Any], recorder: Any = None) -> None: ...

    @abstractmethod
    async def apply_action(self, action: dict[str, Any]) -> None: ...

    @abstractmethod
    async def get_observation(self) -> dict[str, Any]: ...

    @abstractmethod
    async def is_done(self) -> bool: ...

    @abstractmethod
    async def get_time(self) -> float: ...

    @abstractmethod
    async def get_result(self) -> dict[str, Any]: ...

    def get_action_spec(self) -> dict[str, Any]:
        raise NotImplementedError(type(self).__name__)

    def get_observation_spec(self) -> dict[str, Any]:
        raise NotImplementedError(type(self).__name__)

    def get_metric_keys(self) -> dict[str, str]:
        return {"success": "mean"}

    def get_metadata(self) -> dict[str, Any]:
        return {}

    def cleanup(self) -> None:
        return None

    def render(self) -> Any:
        return None


class StepBenchmark(Benchmark, ABC):
    """The same in plain calls. The recorder is there from `start_episode` on, not before."""

    def __init__(self) -> None:
        super().__init__()
        self._last_result = StepResult(None, 0.0, False, {})
        self._task: dict[str, Any] = {}

    @abstractmethod
    def reset(self, task: dict[str, Any]) -> Any: ...

    @abstractmethod
    def step(self, action: dict[str, Any]) -> StepResult: ...

    @abstractmethod
    def make_obs(self, raw_obs: Any, task: dict[str, Any]) -> dict[str, Any]: ...

    @abstractmethod
    def get_step_result(self, step_result: StepResult) -> dict[str, Any]: ...

    def check_done(self, step_result: StepResult) -> bool:
        return step_result.done

    async def start_episode(self, task: dict[str, Any], recorder: Any = None) -> None:
        self._task, self._recorder = task, recorder or NullEpisodeRecorder()
        self._last_result = StepResult(self.reset(task), 0.0, False, {})

    async def apply_action(self, action: dict[str, Any]) -> None:
        self._last_result = self.step(action)

    async def get_observation(self) -> dict[str, Any]:
        return self.make_obs(self._last_result.obs, self._task)

    async def is_done(self) -> bool:
        return self.check_done(self._last_result)

    async def get_time(self) -> float:
        return 0.0

    async def get_result(self) -> dict[str, Any]:
        return self.get_step_result(self._last_result)
