"""What an interpreter says of itself. This text is run by the interpreter that is asked, which need not be one that
Proctor works with: its syntax is that of any Python, and one that is too old still says what it is.

The first argument is JSON: {"imports": [...], "system": [...]}. The answer is one JSON list per line, each written
before the next thing is tried, so that whoever asked knows what was being tried when the interpreter died.
"""

import sys

if __name__ == "__main__":
    sys.path[:] = [place for place in sys.path if place]  # not the working directory

import json
import os
import platform


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what modules print while they are imported is no answer

    def say(what, value):
        answers.write(json.dumps([what, value]) + "\n")
        answers.flush()

    implementation = platform.python_implementation().lower()
    say("python", {"version": platform.python_version(), "implementation": implementation})
    if sys.version_info >= (3, 8):  # noqa: UP036 - it may be any
        look(json.loads(sys.argv[1]), say)


def look(wanted, say):
    import ctypes
    import importlib
    import sysconfig

    say("site", sorted({sysconfig.get_path(kind) for kind in ("purelib", "platlib")}))
    say("packages", installed())
    for library in wanted["system"]:
        try:
            ctypes.CDLL(library)
        except OSError as error:
            say("lacks", [library, str(error)])
    for module in wanted["imports"]:
        say("importing", module)
        try:
            importlib.import_module(module)
        except BaseException as error:
            say("failed", [module, ": ".join([type(error).__name__, str(error)])])
    say("importing", None)


def installed():
    import importlib.metadata
    import re

    found = {}
    for one in importlib.metadata.distributions():
        name = one.metadata["Name"]
        if name:
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), one.version)
    found.pop("pip", None)  # what installed the others is none of them
    return found


if __name__ == "__main__":
    main()
    os._exit(0)  # what was imported is not asked how it would like to end
