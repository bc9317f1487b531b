"""A small goal model: text encoder, encoder of pictures and prior, trained contrastively.

- `inputs`: texts and frames as numbers; `nets`: the three networks, for numpy and torch alike.
- `model`: the file, and the goal model that is made of it.
"""

from proctor.suites.goals.contrastive.model import ContrastiveGoals

__all__ = ["ContrastiveGoals"]
