"""Motion tracking: a humanoid is shown a reference motion and measured on how closely it follows.

`robot/` says what the robot is, `motions/` what it should do.
"""
