"""The loops of resampling, compiled: imports numba, and is imported where resamples are drawn.

Replicate r draws from a stream of its own, a hash of (key, r): whatever range of replicates a call is given, and on
whatever thread, a replicate is the same to the byte. Numbers below n are the high part of a 32-bit word times n, so
that no number is likelier than another by more than 2^-32.

All of it is in one file, since numba notices a change only in the file of the function that is called.
"""

from __future__ import annotations

import numpy as np

from proctor.kernels import kept

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)

MEAN, IQM, TRIAL_MEDIAN, TASK_MEDIAN = 0, 1, 2, 3


@kept(nogil=True)
def mixed(state):
    z = (state ^ (state >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    return z ^ (z >> np.uint64(31))


@kept(nogil=True)
def stream(key, replicate):
    """Where the stream of a replicate starts."""
    return mixed(mixed(key + GOLDEN) ^ mixed(np.uint64(replicate) * GOLDEN + MIX_1))


@kept(nogil=True)
def largest(offsets):
    found = 0
    for j in range(len(offsets) - 1):
        found = max(found, offsets[j + 1] - offsets[j])
    return found


@kept(nogil=True)
def draw(picks, bounds, offsets, keys, replicate, tasks_too):
    """One resample: indices into the pooled values in `picks`, task after task; task j's are `bounds[j] :
    bounds[j + 1]`. With `tasks_too` the tasks are drawn first."""
    n_tasks = len(offsets) - 1
    of_tasks, of_values = stream(keys[0], replicate), stream(keys[1], replicate)
    bounds[0] = 0
    for j in range(n_tasks):
        task = j
        if tasks_too:
            of_tasks += GOLDEN
            task = np.int64(((mixed(of_tasks) >> HALF) * np.uint64(n_tasks)) >> HALF)
        start, size = np.uint64(offsets[task]), offsets[task + 1] - offsets[task]
        n, at = np.uint64(size), bounds[j]
        bounds[j + 1] = at + size
        for pair in range(size // 2):
            word = mixed(of_values + np.uint64(pair + 1) * GOLDEN)
            picks[at + 2 * pair] = start + (((word >> HALF) * n) >> HALF)
            picks[at + 2 * pair + 1] = start + (((word & LOW) * n) >> HALF)
        of_values += np.uint64((size + 1) // 2) * GOLDEN
        if size % 2:
            picks[at + size - 1] = start + (((mixed(of_values) >> HALF) * n) >> HALF)


@kept(nogil=True)
def middle(counts, ordered, cut, total):
    """The mean of what is left of `total` counted, ordered values without the `cut` lowest and highest."""
    low, high, at, found = cut, total - cut, 0, 0.0
    for k in range(len(ordered)):
        after = at + counts[k]
        found += ordered[k] * max(0, min(after, high) - max(at, low))
        at = after
    return found / (high - low)


@kept(nogil=True)
def task_means(means, values, picks, bounds):
    for j in range(len(bounds) - 1):
        found = 0.0
        for i in range(bounds[j], bounds[j + 1]):
            found += values[picks[i]]
        means[j] = found / (bounds[j + 1] - bounds[j])


@kept(nogil=True)
def statistics(out, first, keys, offsets, tasks_too, values, rank, ordered, code):
    """`out[r]` is the statistic of replicate `first + r`. `rank[i]` is where value i is in `ordered`."""
    n_tasks = len(offsets) - 1
    picks = np.empty(n_tasks * largest(offsets), np.uint32)
    bounds = np.empty(n_tasks + 1, np.int64)
    counts = np.zeros(len(values), np.int64)
    means = np.empty(n_tasks)
    for r in range(len(out)):
        draw(picks, bounds, offsets, keys, first + r, tasks_too)
        total = bounds[n_tasks]
        if code == TASK_MEDIAN:
            task_means(means, values, picks, bounds)
            means.sort()
            out[r] = 0.5 * (means[(n_tasks - 1) // 2] + means[n_tasks // 2])
        elif code == MEAN:
            found = 0.0
            for i in range(total):
                found += values[picks[i]]
            out[r] = found / total
        else:
            counts[:] = 0
            for i in range(total):
                counts[rank[picks[i]]] += 1
            cut = total // 4 if code == IQM else (total - 1) // 2
            out[r] = middle(counts, ordered, cut, total)


@kept(nogil=True)
def shares_above(out, first, keys, offsets, tasks_too, rank, places):
    """`out[r, k]`: the share of replicate `first + r` whose rank is `places[k]` or more; `places` ascend."""
    n_tasks = len(offsets) - 1
    picks = np.empty(n_tasks * largest(offsets), np.uint32)
    bounds = np.empty(n_tasks + 1, np.int64)
    counts = np.zeros(len(rank) + 1, np.int64)
    for r in range(len(out)):
        draw(picks, bounds, offsets, keys, first + r, tasks_too)
        total = bounds[n_tasks]
        counts[:] = 0
        for i in range(total):
            counts[rank[picks[i]]] += 1
        below, at = 0, 0
        for k in range(len(places)):
            while at < places[k]:
                below += counts[at]
                at += 1
            out[r, k] = 1 - below / total


@kept(nogil=True)
def improvements(out, first, keys_x, keys_y, offsets_x, offsets_y, tasks_too, level_x, level_y):
    """`out[r]`: the mean over tasks of P(x > y) + P(x = y) / 2. Levels number the distinct values of a task from 0, in
    order, jointly for x and y."""
    n_tasks = len(offsets_x) - 1
    picks_x = np.empty(n_tasks * largest(offsets_x), np.uint32)
    picks_y = np.empty(n_tasks * largest(offsets_y), np.uint32)
    bounds_x, bounds_y = np.empty(n_tasks + 1, np.int64), np.empty(n_tasks + 1, np.int64)
    counts = np.zeros((2, max(level_x.max(), level_y.max()) + 1), np.int64)
    for r in range(len(out)):
        draw(picks_x, bounds_x, offsets_x, keys_x, first + r, tasks_too)
        draw(picks_y, bounds_y, offsets_y, keys_y, first + r, tasks_too)
        found = 0.0
        for j in range(n_tasks):
            counts[:] = 0
            for i in range(bounds_x[j], bounds_x[j + 1]):
                counts[0, level_x[picks_x[i]]] += 1
            for i in range(bounds_y[j], bounds_y[j + 1]):
                counts[1, level_y[picks_y[i]]] += 1
            below, wins = 0, 0.0
            for k in range(counts.shape[1]):
                wins += counts[0, k] * (below + 0.5 * counts[1, k])
                below += counts[1, k]
            found += wins / ((bounds_x[j + 1] - bounds_x[j]) * (bounds_y[j + 1] - bounds_y[j]))
        out[r] = found / n_tasks


@kept(nogil=True)
def flipped_sums(out, first, keys, values):
    """`out[r]`: the sum of the values, each with a sign of its own from the stream of replicate `first + r`."""
    n = len(values)
    for r in range(len(out)):
        state = stream(keys[0], first + r)
        found = 0.0
        word = np.uint64(0)
        for i in range(n):
            if i % 64 == 0:
                state += GOLDEN
                word = mixed(state)
            found += values[i] * (2.0 * np.float64(word & np.uint64(1)) - 1.0)
            word = word >> np.uint64(1)
        out[r] = found


@kept(nogil=True)
def spending_streams(stops, steps, budgets):
    """For each row of `steps` (-1, 0, 1 per look): in `stops` the look, from 1, at which the boundary is crossed, with
    the sign of the sum there; 0 where it never is. `budgets[i]` is what may be spent by look i + 1. The recursion is
    that of `proctor.stats.spending`."""
    n = steps.shape[1]
    alive = np.empty(n + 2)
    for row in range(steps.shape[0]):
        alive[:] = 0.0
        alive[0] = 1.0
        top, total, spent, stops[row] = 0, 0, 0.0, 0
        for i in range(n):
            if steps[row, i] != 0:
                total += steps[row, i]
                below = alive[0]
                alive[0] = 0.5 * alive[1]
                for k in range(1, top + 2):
                    here = alive[k]
                    alive[k] = (below if k == 1 else 0.5 * below) + 0.5 * alive[k + 1]
                    below = here
                top += 1
            tail, k = 0.0, top + 1
            while k > 1 and tail + alive[k - 1] <= budgets[i] - spent:
                k -= 1
                tail += alive[k]
                alive[k] = 0.0
            spent += tail
            top = min(top, k - 1)
            if abs(total) >= k:
                stops[row] = (i + 1) if total > 0 else -(i + 1)
                break
