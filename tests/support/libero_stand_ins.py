"""Stand-ins for LIBERO's assets: plain boxes on a plain floor, enough for the first task of `libero_object`. With them
the real package runs where its meshes are not to be had; initial states are its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

FOLDERS = (
    "scenes", "stable_hope_objects", "stable_scanned_objects", "turbosquid_objects", "articulated_objects", "textures",
)  # fmt: skip
TEXTURES = {"light-gray-floor-tile": 180, "light-gray-plaster": 180, "dark_floor_texture": 40}
THINGS = ("alphabet_soup", "salad_dressing", "cream_cheese", "milk", "tomato_sauce", "butter")

SCENE = """<mujoco model="floor_arena">
  <asset>
    <texture file="../textures/light-gray-floor-tile.png" type="2d" name="texplane"/>
    <material name="floorplane" texture="texplane" texrepeat="2 2" texuniform="true"/>
    <texture file="../textures/light-gray-plaster.png" type="2d" name="tex-wall"/>
    <material name="walls_mat" texture="tex-wall"/>
  </asset>
  <worldbody>
    <geom condim="3" group="1" material="floorplane" name="floor" size="3 3 .125" type="plane"/>
    <body name="floor"/>
    <light pos="-1 1 1.5" dir="0.2 -0.2 -1" directional="true" castshadow="true"/>
    <camera mode="fixed" name="frontview" pos="1.6 0 1.45" quat="0.56 0.43 0.43 0.56"/>
    <camera mode="fixed" name="agentview" pos="0.9 0 0.75" quat="0.65 0.27 0.27 0.65"/>
  </worldbody>
</mujoco>"""

BOX = """<mujoco model="{name}">
  <worldbody>
    <body>
      <body name="object">
        <geom size="0.02 0.02 0.03" type="box" group="0" density="200" rgba="0.8 0.2 0.2 1"/>
        <geom size="0.02 0.02 0.03" type="box" group="1" contype="0" conaffinity="0" rgba="0.8 0.2 0.2 1"/>
        {inside}
      </body>
      <site rgba="0 0 0 0" size="0.005" pos="0 0 -0.03" name="bottom_site"/>
      <site rgba="0 0 0 0" size="0.005" pos="0 0 0.03" name="top_site"/>
      <site rgba="0 0 0 0" size="0.005" pos="0.02 0.02 0" name="horizontal_radius_site"/>
    </body>
  </worldbody>
</mujoco>"""

INSIDE = '<site name="contain_region" type="box" quat="1 0 0 0" pos="0 0 0" size="0.05 0.05 0.05" rgba="0 0 0 0"/>'


def write_assets(folder: Path) -> Path:
    """The folder, filled."""
    for name in FOLDERS:
        (folder / name).mkdir(parents=True)
    for name, grey in TEXTURES.items():
        Image.fromarray(np.full((32, 32, 3), grey, np.uint8)).save(folder / "textures" / f"{name}.png")
    (folder / "scenes" / "libero_floor_base_style.xml").write_text(SCENE)
    for name in THINGS:
        _write_box(folder / "stable_hope_objects" / name, "")
    _write_box(folder / "stable_scanned_objects" / "basket", INSIDE)
    return folder


def _write_box(folder: Path, inside: str) -> None:
    folder.mkdir()
    (folder / f"{folder.name}.xml").write_text(BOX.format(name=folder.name, inside=inside))
