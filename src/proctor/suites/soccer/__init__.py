"""Booster T1 soccer on sai-mujoco: the tasks of a competition, scored as its own runner scores them.

- `tasks`: which there are; `seeds`: of the matches of an official run.
- `options`, `env`, `suite`: the task; `readings`: what is recorded of a step.
- `preprocessing`: the official observation.
- `evaluating`: an evaluation function of the user's, in the worker.
- `agents`: a controller that stands.
"""
