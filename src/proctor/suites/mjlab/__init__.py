"""Tasks of mjlab, on MuJoCo Warp."""
