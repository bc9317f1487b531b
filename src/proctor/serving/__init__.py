"""A local agent offered over the network: `proctor serve`.

Requests of all callers share forwards, with the same batching, padding and search for guilty rows as a run has, so that
a trial that is examined through a server has the bytes that it has without one.
"""

from proctor.serving.offer import Offer, ServeCfg, choose_agent, serve_agent, tasks_of

__all__ = ["Offer", "ServeCfg", "choose_agent", "serve_agent", "tasks_of"]
