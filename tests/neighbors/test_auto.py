"""Settings by leave-one-out: what a trial measures, and what is chosen."""

import numpy as np
import pytest
from _neighbors_data import X, Y

from sklearn_xc import TopKNeighborsClassifier


def test_copies_do_not_make_one_neighbour_look_best():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(10, 30))
    y = np.repeat(np.arange(10), 40)
    rows = centres[y] + 4 * rng.normal(size=(400, 30))
    twice, y_twice = np.tile(rows, (4, 1)), np.tile(y, 4)
    model = TopKNeighborsClassifier(random_state=0).fit(twice, y_twice)
    assert model.n_neighbors_ > 5


@pytest.mark.parametrize("rows", [np.zeros((6, 3)), np.ones((6, 3)), np.eye(6)])
def test_defaults_where_nothing_can_be_left_out(rows):
    model = TopKNeighborsClassifier(random_state=0).fit(rows, np.arange(6) % 3)
    assert model.n_neighbors_ >= 1
    assert model.predict(rows).shape == (6,)


def test_the_same_seed_chooses_the_same():
    made = [TopKNeighborsClassifier(random_state=3).fit(X, Y)._settings() for _ in range(2)]
    assert made[0] == made[1]
