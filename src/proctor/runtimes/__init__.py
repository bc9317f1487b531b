"""Provisional."""

from typing import Any

RuntimeCfg = Any
Located = Any


def locate(cfg):
    raise NotImplementedError


def needed_for(task, suite):
    return None
