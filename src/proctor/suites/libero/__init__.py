"""LIBERO's benchmarks, on robosuite through the package `hf-libero`.

- `presets`: the protocols, as data; `perturbations`: what may be made otherwise; `suite`: what a task may be set to.
- `installation`: the package's files, and what is missing of them.
- `env`: the task; `disturbing`: does to it what a perturbation says.
"""
