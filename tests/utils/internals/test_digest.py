"""A digest tells tables with other numbers from those of before, however they lie in memory."""

import numpy as np
import pytest

from sklearn_xc.training._waiting import Replaced, digest_of

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(3, 5), (600, 7), (7, 600), (1, 1), (513,)])
def test_the_order_of_memory_changes_nothing(shape):
    table = RNG.normal(size=shape).astype(np.float32)
    expected = digest_of([table, table[:1]])
    wide = np.zeros((*shape[:-1], shape[-1] + 3), dtype=np.float32)[..., : shape[-1]]
    wide[...] = table
    for other in (np.asfortranarray(table), wide, table.astype(np.float64), wide[::1]):
        assert digest_of([other, other[:1]]) == expected


def test_changes_show():
    table = RNG.normal(size=(40, 30)).astype(np.float32)
    seen = {digest_of([table])}
    changes = [-table, table[::-1], table[:, ::-1], table + np.float32(1e-7), 2 * table]
    for rows in (2, 3, 10):  # signs of an even number of weights
        some = table.copy()
        some[:rows] *= -1
        changes.append(some)
    for i, j in ((0, 0), (39, 29), (5, 7)):
        some = table.copy()
        some[i, j] = np.nextafter(some[i, j], np.float32(9))
        changes.append(some)
        some = table.copy()
        some[[i, 1]] = some[[1, i]]
        if i != 1:
            changes.append(some)
    for some in changes:
        seen.add(digest_of([some]))
    assert len(seen) == 1 + len(changes)
    assert digest_of([table, table[0]]) != digest_of([table[0], table])


@pytest.mark.parametrize("order", ["C", "F"])
def test_what_was_replaced_is_put_back(order):
    before = np.array(RNG.normal(size=(300, 20)), dtype=np.float32, order=order)
    now = before.copy(order=order)
    now[[3, 270], 5] += 1
    now[4, 17] = 0
    replaced = Replaced(before, now)
    assert (replaced.rows.tolist(), replaced.columns.tolist()) == ([3, 4, 270], [5, 17])
    np.testing.assert_array_equal(replaced.put_back(now), before)
