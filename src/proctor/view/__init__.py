"""The web viewer over run folders: `proctor view`.

It reads and never writes: ledgers are read from copies, and nothing that a run names is imported. The server
(Starlette) answers with JSON, arrays and server-sent events; the pages are hand-written ES modules in `static/`. Nobody
imports this package but its verb.
"""
