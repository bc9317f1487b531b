"""Proctor inside somebody else's training loop: evaluate every so many steps, on the loop's own environment or on
one of Proctor's, without changing anything of training, and feed difficulty back into the curriculum."""
