"""Tasks of mjlab, which simulates with MuJoCo Warp.

- `suite`: what a config says, and the suite. It imports no simulator.
- `worlds`: what a worker calls in mjlab's own interpreter. It and what it imports need numpy, mjlab and torch.
- `building`: mjlab's environment of a task, made for examinations, with changes of its config as data.
- `observations`: what is seen and recorded. `dice`: worlds as if alone, with random numbers of their own.
"""
