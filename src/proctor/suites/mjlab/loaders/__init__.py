"""Policies as mjlab's training leaves them.

- `rsl_rl`: the loader `mjlab/rsl_rl`, and its policy.
- `actor`: from the weights in a checkpoint to the network that they belong to.
- `training`: what the folder of a run says of how it was trained.
"""
