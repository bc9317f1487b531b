from __future__ import annotations

from typing import Any


class NullEpisodeRecorder:
    """What a benchmark is given where nothing is recorded."""

    is_active = False

    def record_video(self, frame: Any) -> None: ...

    def record_step(self, **fields: Any) -> None: ...
