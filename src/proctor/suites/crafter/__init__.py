"""Crafter: a small open world with trees, stone, water and creatures, and tasks given as instructions.

- `tasks`: the tasks, what they ask for in words, what success is; all data.
- `simulator`: Crafter made reproducible; `names`: what its numbers mean.
- `options`, `env`, `suite`: the task; `skills`, `agents`: scripted agents.
"""
