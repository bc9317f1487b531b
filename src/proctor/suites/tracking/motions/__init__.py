"""Reference motions: read from files or made, brought to the control rate, kept in a library."""

from proctor.suites.tracking.motions.library import MotionLibrary
from proctor.suites.tracking.motions.loading import load_motions
from proctor.suites.tracking.motions.motion import Frames, Motion, Reference
from proctor.suites.tracking.motions.options import MotionOptions

__all__ = ["Frames", "Motion", "MotionLibrary", "MotionOptions", "Reference", "load_motions"]
