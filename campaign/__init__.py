"""The fault campaign: break examinations in every way that can be thought of, and see that nothing is lost or changed.

    python -m campaign                        a short part, as CI runs it
    python -m campaign --faults 10000         the long one

docs/reliability.md says what is tried, what counts as lost, and what the last long campaign found.
"""
