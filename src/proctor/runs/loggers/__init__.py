"""Where the numbers of a run, or of an evaluation in a training loop, go while it goes on.

A logger takes `log({"eval/tracking/emd": 0.7, ...}, step)`. Each service is a file of its own, and its package is
imported when such a logger is made.
"""
