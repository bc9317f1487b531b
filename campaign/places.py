"""Where things are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The repository: processes of the campaign find the package `campaign` here."""
