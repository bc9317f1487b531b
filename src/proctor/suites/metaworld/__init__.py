"""Manipulation with a robot arm at a table: the tasks of Meta-World.

- `tasks`: names, instructions and groups, as data; `options`: what a task may be set to.
- `worlds`: Meta-World's simulations and the variations of a task; `env`, `suite`: the task.
- `agents`: the scripted experts.
"""
