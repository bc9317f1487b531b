"""The tracking worlds on a device: the same task as in the other modules, as array programs of torch.

- `environment`: the environment. `worlds`: where each world stands in its motion, and what happens in a step.
- `physics`: what a simulator of many worlds has to do; `warp` (MuJoCo Warp) and `mjx` (MJX) are two.
- `observing`, `judging`, `rotations`: as the modules of the same names beside this folder, for tensors.
- `drawing`: what is random in a trial, drawn when it begins. `capture`: programs that a GPU keeps as graphs.

Nothing here is imported before a task asks for it: torch and the simulators are extras.
"""
