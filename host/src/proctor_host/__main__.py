"""`python -m proctor_host`: the program `proctor-host`."""

from __future__ import annotations

from proctor_host.serving import main

if __name__ == "__main__":
    main()
