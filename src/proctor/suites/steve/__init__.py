"""stEVE environments on SOFA: wires in aortic arches, with the simulator that people train on.

- `options`: the task as data; `devices`: tools as stEVE devices.
- `build`: intervention, pathfinder and the rest of a stEVE environment; `forces`: what SOFA's scene says of contact.
- `env`, `suite`: the task.
"""
