"""The reference policy: a planner that puts waypoints into the scene, and an action expert that moves between them by
flow matching. Small enough to ship, and of the same shape as its large relatives: `NetCfg` scales it up.

- `cfg`: how large it is; `nets`: the two networks, and their forwards on a GPU; `checkpoint`: the file that holds both.
- `policy`: the two stages; `loader`: the way from a config.

It is trained by `examples/train_manipulation.py`. Torch is imported when a checkpoint is loaded.
"""
