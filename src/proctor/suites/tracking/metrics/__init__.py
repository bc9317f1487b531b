"""How well a motion was reproduced: an agent's track against the reference's, in joint space and in the world.

`tracking_metrics` compares one pair, `evaluate_tracks` many in threads, `summarize` gives their means and standard
deviations. The same numbers as metrics of recorded episodes are in `recorded`. Names, formulas and units are in
docs/tracking-metrics.md.
"""

from proctor.suites.tracking.metrics.evaluate import by_motion, evaluate_tracks, summarize, tracking_metrics
from proctor.suites.tracking.metrics.track import Track, TrackOptions

__all__ = ["Track", "TrackOptions", "by_motion", "evaluate_tracks", "summarize", "tracking_metrics"]
