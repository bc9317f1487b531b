"""Endovascular navigation: wires in aortic arches, on an embedded simulator.

- `anatomy`: the vessels; `tools`: the wires; both data.
- `grid`, `spline`: the distance to the wall; `rod`, `kernel`, `solver`: the wire, compiled; `wire`: around it.
- `carm`, `fluoroscopy`: what is seen; `paths`: how far it is to the target.
- `options`, `env`, `suite`: the task; `agents`: scripted ones.
"""
