"""Calls every kernel of the guidewire once, so that it is compiled."""

from __future__ import annotations

import numpy as np

from proctor.suites.endovascular.options import EndovascularOptions
from proctor.suites.endovascular.suite import EndovascularSuite


def warm() -> None:
    env = EndovascularSuite().make(EndovascularOptions(), render=False, worlds=1)
    env.reset(0, 0)
    env.step(np.array([20.0, 0.5], np.float32))
    env.close()
