from __future__ import annotations

import asyncio
from typing import Any

import numpy as np

from vla_eval.model_servers.base import ModelServer, SessionContext


class PredictModelServer(ModelServer):
    """One `predict` at a time, on a thread. With `chunk_size` the rest of a chunk is kept for the session, and one
    action is sent for each observation; without, a chunk is sent as it is. Actions are cast to float32."""

    def __init__(self, *, chunk_size: int | None = None) -> None:
        self.chunk_size, self._kept, self._lock = chunk_size, dict[str, list[Any]](), asyncio.Lock()

    def predict(self, obs: dict[str, Any], ctx: SessionContext) -> dict[str, Any]:
        raise NotImplementedError

    async def on_observation(self, obs: dict[str, Any], ctx: SessionContext) -> None:
        kept = self._kept.setdefault(ctx.session_id, [])
        if kept:
            await ctx.send_action({"actions": kept.pop(0)})
            return
        async with self._lock:
            result = await asyncio.to_thread(self.predict, obs, ctx)
        if result.get("actions") is None:
            await ctx.send_action(result)
            return
        actions = np.asarray(result["actions"], np.float32)
        if self.chunk_size is not None and actions.ndim == 2:
            actions, *rest = list(actions[: self.chunk_size])
            kept.extend(rest)
            result = {}
        await ctx.send_action({**result, "actions": actions})

    async def on_episode_start(self, config: dict[str, Any], ctx: SessionContext) -> None:
        self._kept.pop(ctx.session_id, None)

    async def on_episode_end(self, result: dict[str, Any], ctx: SessionContext) -> None:
        self._kept.pop(ctx.session_id, None)
