"""The fifty tasks of Meta-World by name, each with an instruction, and the groups they are examined in."""

from __future__ import annotations

INSTRUCTIONS: dict[str, str] = {
    "assembly-v3": "put the ring over the peg",
    "basketball-v3": "drop the ball into the hoop",
    "bin-picking-v3": "move the cube into the other bin",
    "box-close-v3": "put the lid on the box",
    "button-press-topdown-v3": "press the button from above",
    "button-press-topdown-wall-v3": "press the button behind the wall from above",
    "button-press-v3": "press the button from the front",
    "button-press-wall-v3": "reach over the wall and press the button",
    "coffee-button-v3": "press the button of the coffee machine",
    "coffee-pull-v3": "pull the mug away from the coffee machine",
    "coffee-push-v3": "push the mug under the coffee machine",
    "dial-turn-v3": "turn the dial",
    "disassemble-v3": "lift the ring off the peg",
    "door-close-v3": "close the door",
    "door-lock-v3": "lock the door",
    "door-open-v3": "open the door",
    "door-unlock-v3": "unlock the door",
    "hand-insert-v3": "put the hand into the hole",
    "drawer-close-v3": "close the drawer",
    "drawer-open-v3": "open the drawer",
    "faucet-open-v3": "open the faucet",
    "faucet-close-v3": "close the faucet",
    "hammer-v3": "drive in the nail with the hammer",
    "handle-press-side-v3": "press the handle down from the side",
    "handle-press-v3": "press the handle down",
    "handle-pull-side-v3": "pull the handle up from the side",
    "handle-pull-v3": "pull the handle up",
    "lever-pull-v3": "pull the lever up",
    "pick-place-wall-v3": "lift the puck over the wall to the goal",
    "pick-out-of-hole-v3": "take the puck out of the hole",
    "pick-place-v3": "lift the puck to the goal",
    "plate-slide-v3": "slide the plate into the cabinet",
    "plate-slide-side-v3": "slide the plate sideways into the cabinet",
    "plate-slide-back-v3": "slide the plate back out of the cabinet",
    "plate-slide-back-side-v3": "slide the plate sideways out of the cabinet",
    "peg-insert-side-v3": "insert the peg sideways into the hole",
    "peg-unplug-side-v3": "pull the peg sideways out of the hole",
    "soccer-v3": "push the ball into the goal",
    "stick-push-v3": "push the thermos with the stick",
    "stick-pull-v3": "pull the thermos with the stick",
    "push-v3": "push the puck to the goal",
    "push-wall-v3": "push the puck around the wall to the goal",
    "push-back-v3": "pull the puck back to the goal",
    "reach-v3": "move the hand to the goal",
    "reach-wall-v3": "move the hand over the wall to the goal",
    "shelf-place-v3": "put the cube on the shelf",
    "sweep-into-v3": "sweep the puck into the hole",
    "sweep-v3": "sweep the puck off the table",
    "window-open-v3": "open the window",
    "window-close-v3": "close the window",
}
"""Task -> instruction, in Meta-World's order. Instructions are Proctor's; the package has none."""

GROUPS: dict[str, tuple[str, ...]] = {
    "MT10": (
        "reach-v3", "push-v3", "pick-place-v3", "door-open-v3", "drawer-open-v3", "drawer-close-v3",
        "button-press-topdown-v3", "peg-insert-side-v3", "window-open-v3", "window-close-v3",
    ),
    "MT50": tuple(INSTRUCTIONS),
}  # fmt: skip
"""Groups of several tasks; `MT1` is one task by name."""

TEXT_BYTES = 64
"""Bytes of an instruction in an observation."""
