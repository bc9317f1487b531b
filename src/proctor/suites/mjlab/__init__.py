"""Tasks of mjlab, which simulates with MuJoCo Warp.

- `options`, `suite`: what a config says, and the suite. They import no simulator.
- `environment`: what a worker calls in mjlab's own interpreter; it and what it imports know numpy, mjlab and torch only.
- `building`: mjlab's environment of a task, made for examinations. `overrides`: changes of its config, as data.
- `dice`: the random numbers of every world. `signals`: what is recorded.
"""
