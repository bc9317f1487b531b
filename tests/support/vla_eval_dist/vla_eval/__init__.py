"""A stand-in for vla-eval, written from what version 0.8.0 does: as much of it as Proctor's suite and its tests use.

`tests/suites/vla_eval` runs the same tests against the real package where there is one.
"""

__version__ = "0.8.0"
