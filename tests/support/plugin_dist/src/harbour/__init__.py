"""Boats that dock: one part of every kind that Proctor knows."""
