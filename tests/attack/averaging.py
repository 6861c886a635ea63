"""Guesses every answer from several collections of the same people: what stated chances are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deniable.attack import ValueAttack, guess
from deniable.attack.inputs import checked_priors, records_from
from deniable.attack.likelihoods import Source, by_cell, by_value, clues, hidden_in, make_pool, parts_of
from deniable.attack.values import _best, among_fakes

PEOPLE_AT_ONCE = 10_000


def guess_from_collections(
    plan: Source, collections: Sequence[object], prior: object = None, memoized: bool = True
) -> ValueAttack:
    """Each collection is the reports of all people in the same order, whose answers did not change.

    A mechanism that keeps a first answer is attacked through it; with memoized=False, as if the client drew
    it again each time. Among fakes, all ways to draw the real attributes are summed over.
    """
    surveys = [records_from(plan, reports) for reports in collections]
    believed, found = checked_priors(plan, prior), guess(plan, collections[0], prior)
    draws = np.random.default_rng(2)  # of ties
    hidden = hidden_in(plan)
    for faked in hidden:
        selected = [faked.select(records) for records in surveys]
        for j, who, table in among_fakes(faked.mechanism, selected, [believed[j] for j in faked.attributes]):
            at = faked.first + j
            found.values[at, who], found.posterior[at, who] = _best(table, draws)
    secret = {j for faked in hidden for j in faked.attributes}
    for j, part in enumerate(parts_of(plan)):
        if j in secret:
            continue
        sent = [clues(plan, records)[j] for records in surveys]
        for start in range(0, surveys[0].n, PEOPLE_AT_ONCE):
            pool = make_pool(part, min(surveys[0].n - start, PEOPLE_AT_ONCE), memoized)
            for clue in sent:
                low, high = np.searchsorted(clue.who, (start, start + PEOPLE_AT_ONCE))
                pool.add(clue.who[low:high] - start, clue.reports[low:high])
            who = pool.reported + start
            table = by_value(part, pool.table() * by_cell(part, believed[j]))
            found.values[j, who], found.posterior[j, who] = _best(table, draws)
    return found
