"""Tasks of mjlab, which simulates with MuJoCo Warp.

- `options`, `suite`: what a config says, and the suite. They import no simulator.
- `environment`: what a worker calls in mjlab's own interpreter. It and what it imports need numpy, mjlab and torch.
- `building`: mjlab's environment of a task, made for examinations. `overrides`: changes of its config, as data.
- `worlds`: its worlds as environments. `observations`, `signals`: what is seen and recorded.
- `dice`: every world's random numbers. `leftovers`: what must not outlive a trial. `alike`: worlds as if alone.
"""
