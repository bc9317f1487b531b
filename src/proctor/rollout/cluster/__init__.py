"""Beyond one machine: environment workers and replicas of policies as Ray actors, driven by the engine of one run.

The engine keeps the plan, the ledger and the verdict. Ray places actors on nodes and restarts none of them; what is
lost is hired again, wherever Ray finds room. Nothing here is imported unless a run asks for `workers: {kind: ray}`.
"""
