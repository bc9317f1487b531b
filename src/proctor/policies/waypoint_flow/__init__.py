"""The reference policy: a planner that puts waypoints into the scene, and an action expert that moves between them by
flow matching. Small enough to ship, and of the same shape as its large relatives: `NetCfg` scales it up.

`cfg.py` says how large it is, `nets.py` is the two networks, `checkpoint.py` the file that holds both, `policy.py` the
two stages, `loader.py` the way from a config. Torch is imported when a checkpoint is loaded.
"""
