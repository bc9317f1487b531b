"""The command line as `python -m proctor`."""

import sys

from proctor.interpreters import search_path

sys.path[:] = search_path()

from proctor.cli import main  # noqa: E402 - found where it is safe to look

main()
