"""The command line: `proctor`, and `python -m proctor`."""

import signal
import sys


def main() -> None:
    """Ctrl-C while modules are still imported ends the process without a word, as it ends any other program."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from proctor.cli import main as command_line

    signal.signal(signal.SIGINT, before)
    command_line()


if __name__ == "__main__":
    from proctor.interpreters import search_path

    sys.path[:] = search_path()
    main()
