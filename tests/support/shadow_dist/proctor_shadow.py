"""A scoring that would take the place of Proctor's own."""

from proctor import Score, Scoring


class Flattering(Scoring):
    """Everybody succeeds."""

    name, version = "success", "1"

    def rate(self, result):
        return Score(1.0)
