from __future__ import annotations

import abc
from typing import Any


class SessionContext:
    """One episode of one connection."""

    def __init__(self, session_id: str, episode_id: str, send: Any):
        self.session_id, self.episode_id, self.step, self._send = session_id, episode_id, 0, send

    @property
    def is_first(self) -> bool:
        return self.step == 0

    async def send_action(self, action: dict[str, Any]) -> None:
        await self._send(action)


class ModelServer(abc.ABC):
    @abc.abstractmethod
    async def on_observation(self, obs: dict[str, Any], ctx: SessionContext) -> None: ...

    async def on_episode_start(self, config: dict[str, Any], ctx: SessionContext) -> None:
        return None

    async def on_episode_end(self, result: dict[str, Any], ctx: SessionContext) -> None:
        return None

    def get_observation_params(self) -> dict[str, Any]:
        return {}
