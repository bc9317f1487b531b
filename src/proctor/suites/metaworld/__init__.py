"""Manipulation with a robot arm at a table: the tasks of Meta-World.

- `tasks`: names, instructions and groups, as data; `suite`: what a task may be set to.
- `env`: the task and its variations; `agents`: the scripted experts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.exports import lazily

if TYPE_CHECKING:
    from proctor.suites.metaworld.env import MetaworldEnv
    from proctor.suites.metaworld.suite import MetaworldOptions
    from proctor.suites.metaworld.waypoint_flow.cfg import NetCfg, to_net, word_tokens
    from proctor.suites.metaworld.waypoint_flow.checkpoint import save_nets
    from proctor.suites.metaworld.waypoint_flow.nets import Nets, way_of

__getattr__ = lazily(__name__, __file__)

__all__ = ["MetaworldEnv", "MetaworldOptions", "NetCfg", "Nets", "save_nets", "to_net", "way_of", "word_tokens"]
