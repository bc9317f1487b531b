"""LIBERO's benchmarks, on robosuite through the package `hf-libero`.

- `suite`: the protocols, as data, and what a task may be set to.
- `installation`: the package's files, and what is missing of them.
- `shutter`: cameras that draw only when somebody looks; `env`: the task.
"""
