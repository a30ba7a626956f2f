"""Draws of classes and steps on them against plain NumPy."""

import itertools
import time

import numpy as np
import pytest
from scipy import sparse

from sklearn_xc._kernels.augment_reduce import _adaptive_step
from sklearn_xc._kernels.softmax import _sampled_classes
from sklearn_xc.softmax._class_sampling import ClassSampler, alias_table, side_by_side
from sklearn_xc.utils._matrix import as_rows, normalise
from sklearn_xc.utils._rows import Rows

pytestmark = pytest.mark.kernel

EMPTY = np.empty(0, dtype=np.float32)


def step_of(rate, gain, number):
    return {"rate": rate, "gain": gain, "number": number}


@pytest.mark.parametrize("n_sampled", [1, 3, 6])
def test_uniform_draws_are_distinct_and_even(n_sampled):
    sampler = ClassSampler("uniform", np.ones(7), n_sampled)
    y = np.tile(np.arange(7, dtype=np.int32), 3000)
    classes, importance = sampler.draw(y, 5, 9)
    np.testing.assert_array_equal(classes[:, 0], y)
    assert (np.diff(np.sort(classes, axis=1), axis=1) > 0).all()
    assert classes.min() == 0
    assert classes.max() == 6
    np.testing.assert_allclose(importance, 6 / n_sampled)
    share = np.bincount(classes[y == 2, 1:].ravel(), minlength=7) / 3000
    np.testing.assert_allclose(np.delete(share, 2), n_sampled / 6, atol=0.05)
    assert share[2] == 0


def test_no_more_classes_are_drawn_than_there_are():
    classes, importance = ClassSampler("uniform", np.ones(4), 100).draw(
        np.array([0, 3], dtype=np.int32), 0, 0
    )
    np.testing.assert_array_equal(np.sort(classes, axis=1), np.tile(np.arange(4), (2, 1)))
    np.testing.assert_array_equal(importance, 1)


def test_frequent_classes_are_drawn_more_often_and_count_less():
    counts = np.array([1.0, 80.0, 10.0, 9.0])
    sampler = ClassSampler("frequency", counts, 5)
    y = np.zeros(20000, dtype=np.int32)
    classes, importance = sampler.draw(y, 1, 2)
    others = 0.5 / 4 + 0.5 * counts[1:] / 100
    share = np.bincount(classes[:, 1:].ravel(), minlength=4)[1:] / classes[:, 1:].size
    np.testing.assert_allclose(share, others / others.sum(), atol=0.01)
    values = np.array([0.0, 3.0, -2.0, 7.0])
    estimate = (importance * values[classes[:, 1:]]).sum(axis=1)
    np.testing.assert_allclose(estimate.mean(), values[1:].sum(), atol=5 * estimate.std() / 141)


def test_draws_depend_on_seed_and_step_alone():
    sampler = ClassSampler("uniform", np.ones(50), 5)
    y = np.zeros(10, dtype=np.int32)
    first = sampler.draw(y, 1, 1)[0]
    np.testing.assert_array_equal(sampler.draw(y, 1, 1)[0], first)
    for seed, step in ((1, 2), (2, 1)):
        assert (sampler.draw(y, seed, step)[0] != first).any()


@pytest.mark.parametrize("n", [1, 2, 9, 500])
def test_alias_table_holds_the_probabilities(n):
    p = np.random.default_rng(n).random(n) ** 4
    p /= p.sum()
    threshold, alias = alias_table(p)
    held = threshold + np.bincount(alias, weights=1 - threshold, minlength=n)
    np.testing.assert_allclose(held / n, p, atol=1e-12)


def alias_table_by_lists(probability):
    """Return Walker's table as it is written in Python."""
    n = len(probability)
    threshold, alias = probability * n / probability.sum(), np.arange(n, dtype=np.int32)
    small, large = (list(np.flatnonzero(side)) for side in (threshold < 1, threshold >= 1))
    while small and large:
        low, high = small.pop(), large[-1]
        alias[low] = high
        threshold[high] -= 1 - threshold[low]
        if threshold[high] < 1:
            small.append(large.pop())
    threshold[small + large] = 1.0
    return threshold, alias


@pytest.mark.parametrize("n", [1, 2, 9, 500, 5000])
def test_alias_table_is_that_of_the_reference(n):
    p = np.random.default_rng(n).random(n) ** 4
    for one, other in zip(alias_table(p), alias_table_by_lists(p), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_million_classes_have_a_table_in_a_moment():
    """In much less time than by lists, on the machine as it is."""
    p, seconds = np.random.default_rng(0).random(1_000_000), []
    for build, classes in [(alias_table_by_lists, p[:100_000]), (alias_table, p)]:
        begin = time.process_time()
        build(classes)
        seconds.append(time.process_time() - begin)
    assert seconds[1] < 4 * seconds[0]  # 0.4; by lists 10


def problem(dense, n=24, d=41, n_classes=17, n_sampled=4, seed=0, density=0.3):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < density)).astype(np.float32)
    X[1] = 0
    W = rng.normal(size=(n_classes, d)).astype(np.float32)
    b = rng.normal(size=n_classes).astype(np.float32)
    y = rng.integers(0, n_classes, n).astype(np.int32)
    rows = as_rows(normalise(X if dense else sparse.csr_array(X)))
    sampler = ClassSampler("frequency", np.ones(n_classes), n_sampled)
    return X, y, W, b, rows, sampler, rng


@pytest.mark.parametrize("dense", [False, True])
def test_scores_are_products(dense):
    X, y, W, b, rows, sampler, rng = problem(dense)
    batch = rng.permutation(24)[:9].astype(np.int32)
    classes = sampler.draw(y[batch], 0, 0)[0]
    scale = rng.random(17).astype(np.float32)
    out = np.empty(classes.shape, dtype=np.float32)
    _sampled_classes.scores(*rows[:4], batch, classes, W, scale, b, out, 2)
    every = X[batch] @ (scale[:, None] * W).T + b
    expected = np.take_along_axis(every, classes, axis=1)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
    samples = _sampled_classes.MiniBatch(*rows[:4], batch, classes, 17)
    _sampled_classes.scores_by_class(samples, scale[:, None] * W, b, out, 2)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


def test_scores_of_rows_of_every_length():
    """Entries are taken four, eight or sixteen at a time, and what is left one by one."""
    rng = np.random.default_rng(0)
    X = np.tril(rng.normal(size=(41, 41)), -1).astype(np.float32)  # row i has i entries
    W, b = rng.normal(size=(3, 41)).astype(np.float32), np.zeros(3, dtype=np.float32)
    out = np.empty((41, 3), dtype=np.float32)
    classes = np.tile(np.arange(3, dtype=np.int32), (41, 1))
    for given in (X, sparse.csr_array(X)):
        rows = as_rows(normalise(given))
        rows_of_all = np.arange(41, dtype=np.int32)
        _sampled_classes.scores(*rows[:4], rows_of_all, classes, W, EMPTY, b, out, 1)
        np.testing.assert_allclose(out, X @ W.T, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("batch", [[5, 1, 20], [1], []])
def test_rows_of_a_mini_batch_side_by_side(dense, batch):
    """Row 1 is empty."""
    X, _, _, _, rows, _, _ = problem(dense)
    *arrays, dense_too, places = side_by_side(rows, np.array(batch, dtype=np.int32))
    taken = Rows(*arrays, dense_too, (len(arrays[0]) - 1, X.shape[1]))
    assert dense_too == dense
    whole = taken.matrix() if dense else taken.matrix().toarray()
    np.testing.assert_array_equal(whole[places], X[batch])


def scatter(X, batch, classes, coefs, n_classes):
    """sum of coefs[i, j] x_i by class, and the sums of the coefficients."""
    total, sums = np.zeros((n_classes, X.shape[1])), np.zeros(n_classes)
    for i, j in itertools.product(*map(range, classes.shape)):
        total[classes[i, j]] += coefs[i, j] * X[batch[i]].astype(float)
        sums[classes[i, j]] += coefs[i, j]
    return total, sums


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("ridge", [False, True])
def test_plain_steps(dense, ridge):
    X, y, W, b, rows, sampler, rng = problem(dense)
    batch = rng.permutation(24)[:11].astype(np.int32)
    classes = sampler.draw(y[batch], 0, 0)[0]
    coefs = rng.normal(size=classes.shape).astype(np.float32)
    scale = rng.uniform(0.1, 1, 17).astype(np.float32) if ridge else EMPTY
    shrink = rng.uniform(1e-7, 1, 17).astype(np.float32) if ridge else EMPTY
    shrink[: len(shrink) // 2] = 1e-7
    true = scale[:, None] * W if ridge else W.copy()
    if ridge:
        touched = np.unique(classes)
        true[touched] *= shrink[touched, None]
    gradient, sums = scatter(X, batch, classes, coefs, 17)
    expected_b = b + 0.3 * sums
    samples = _sampled_classes.MiniBatch(*rows[:4], batch, classes, 17)
    _sampled_classes.ascend(samples, coefs, 0.3, shrink, W, scale, b, True, 3)
    got = scale[:, None] * W if ridge else W
    np.testing.assert_allclose(got, true + 0.3 * gradient, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(b, expected_b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.6])
@pytest.mark.parametrize(("d", "density"), [(41, 0.3), (700, 0.3), (700, 0.02)])
def test_adaptive_steps(dense, alpha, d, density):
    """Over so many steps that idle averages have to be brought up to date.

    With few entries the coordinates are stepped one by one, otherwise all of a class. Some
    mini-batches are large, so that with few entries both happen to a class.
    """
    X, y, W, b, rows, sampler, rng = problem(dense, d=d, n_classes=31, density=density)
    width = _adaptive_step.width_of_averages(d)
    averages = np.zeros((31, width), dtype=np.float32)
    stamps = np.zeros((31, _adaptive_step.stamps_of(width)), dtype=np.int32)
    share = (alpha / np.maximum((X != 0).sum(axis=0), 1)).astype(np.float32)
    scratch = _adaptive_step.Scratch(d, 2)
    exact_W, exact_b, s = W.astype(float), b.astype(float), np.zeros((31, d + 1))
    for step in [*range(1, 60), *range(700, 730)]:
        if step == 700:
            s *= 0.9 ** (699 - 59)
        batch = rng.permutation(24)[: 3 if step % 7 else 20].astype(np.int32)
        classes, importance = sampler.draw(y[batch], 3, step)
        coefs = rng.normal(size=classes.shape).astype(np.float32)
        gradient, sums = scatter(X, batch, classes, coefs, 31)
        for i, j in itertools.product(*map(range, classes.shape)):
            factor = 1 if j == 0 else importance[i, j - 1]
            k = classes[i, j]
            gradient[k] -= factor * (X[batch[i]] != 0) * share * exact_W[k]
        g = 8 * np.column_stack([gradient, sums])
        s = 0.1 * g**2 + 0.9 * s
        move = 0.01 * g / (1 + np.sqrt(s))
        exact_W, exact_b = exact_W + move[:, :-1], exact_b + move[:, -1]
        samples = _sampled_classes.MiniBatch(*rows[:4], batch, classes, 31)
        _adaptive_step.ascend(
            samples,
            coefs,
            importance,
            share if alpha else EMPTY,
            step_of(0.01, 8.0, step),
            _adaptive_step.AdaptiveWeights(W, b, averages, stamps),
            None,
            None,
            scratch,
            2,
        )
    np.testing.assert_allclose(W, exact_W, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(b, exact_b, rtol=1e-3, atol=1e-4)


def test_averages_do_not_fall_below_the_normal_numbers():
    """A feature that no sample of a class has any more; subnormal numbers would take long."""
    rows = as_rows(np.float32([[1, 1, 1], [1, 0, 1]]))
    W, b = np.zeros((2, 3), dtype=np.float32), np.zeros(2, dtype=np.float32)
    width = _adaptive_step.width_of_averages(3)
    averages = np.zeros((2, width), dtype=np.float32)
    stamps = np.zeros((2, _adaptive_step.stamps_of(width)), dtype=np.int32)
    coefs, importance = np.float32([[1, -1]]), np.float32([[1]])
    for step in range(1, 1200):
        batch = np.full(1, step > 1, dtype=np.int32)
        samples = _sampled_classes.MiniBatch(
            *rows[:4], batch, np.array([[0, 1]], dtype=np.int32), 2
        )
        _adaptive_step.ascend(
            samples,
            coefs,
            importance,
            EMPTY,
            step_of(0.5, 1.0, step),
            _adaptive_step.AdaptiveWeights(W, b, averages, stamps),
            None,
            None,
            _adaptive_step.Scratch(3, 1),
            1,
        )
    assert 1e-30 < averages[0, 1] < 1e-28
    np.testing.assert_allclose(averages[0, [0, 2]], 1, rtol=1e-5)
    np.testing.assert_allclose(W[:, 1], [0.5 / (1 + 0.1**0.5), -0.5 / (1 + 0.1**0.5)], rtol=1e-5)


def test_the_size_of_a_step_at_every_magnitude():
    """rate * g / (1 + sqrt(0.1 g^2)), for which the kernel takes no root of the C library."""
    g = np.exp(np.linspace(-40, 42, 4099)).astype(np.float32)  # 0.1 g^2 from 1e-36 to 3e35
    g = np.concatenate([g, -g, np.float32([0, 1e-38, 1e30])])  # the last overflows, squared
    rows, batch = as_rows(g[None, :]), np.zeros(1, dtype=np.int32)
    samples = _sampled_classes.MiniBatch(*rows[:4], batch, np.array([[0, 1]], dtype=np.int32), 2)
    W, b = np.zeros((2, len(g)), dtype=np.float32), np.zeros(2, dtype=np.float32)
    width = _adaptive_step.width_of_averages(len(g))
    averages = np.zeros((2, width), dtype=np.float32)
    stamps = np.zeros((2, _adaptive_step.stamps_of(width)), dtype=np.int32)
    coefs, importance = np.float32([[1, 0]]), np.float32([[1]])
    _adaptive_step.ascend(
        samples,
        coefs,
        importance,
        EMPTY,
        step_of(0.5, 1.0, 1),
        _adaptive_step.AdaptiveWeights(W, b, averages, stamps),
        None,
        None,
        _adaptive_step.Scratch(len(g), 1),
        1,
    )
    exact = g.astype(np.float64)
    expected = 0.5 * exact / (1 + np.sqrt(0.1 * exact**2))
    np.testing.assert_allclose(W[0, :-1], expected[:-1], rtol=1e-6)
    assert W[0, -1] == 0


@pytest.mark.parametrize("n_classes", [5, 3000, 5_000_000])
def test_grouping_by_class_takes_any_number_of_classes(n_classes):
    """A step on few features of many classes lands where it should, for any number of threads."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, n_classes, (40, 6)).astype(np.int32)
    coefs = rng.normal(size=classes.shape).astype(np.float32)
    rows = as_rows(np.ones((40, 1), dtype=np.float32))
    expected = np.zeros(n_classes)
    np.add.at(expected, classes.ravel(), coefs.ravel().astype(float))
    for n_threads in (1, 2):
        W = np.zeros((n_classes, 1), dtype=np.float32)
        b = np.zeros(n_classes, dtype=np.float32)
        batch = np.arange(40, dtype=np.int32)
        samples = _sampled_classes.MiniBatch(*rows[:4], batch, classes, n_classes)
        _sampled_classes.ascend(samples, coefs, 1.0, EMPTY, W, EMPTY, b, True, n_threads)
        np.testing.assert_allclose(W[:, 0], expected, atol=1e-5)
        np.testing.assert_allclose(b, expected, atol=1e-5)


def test_a_mini_batch_its_weights_and_its_coefficients_fit():
    _, _, W, b, rows, sampler, _ = problem(False)
    batch = np.arange(5, dtype=np.int32)
    classes = sampler.draw(np.zeros(5, dtype=np.int32), 0, 0)[0]
    coefs = np.ones(classes.shape, dtype=np.float32)
    samples = _sampled_classes.MiniBatch(*rows[:4], batch, classes, 18)
    with pytest.raises(ValueError, match="weights of 17 classes, 18 were grouped"):
        _sampled_classes.ascend(samples, coefs, 1.0, EMPTY, W, EMPTY, b, True, 1)
    with pytest.raises(ValueError, match="weights of 17 classes, 18 were grouped"):
        _sampled_classes.scores_by_class(samples, W, b, coefs, 1)
    samples = _sampled_classes.MiniBatch(*rows[:4], batch, classes, 17)
    with pytest.raises(ValueError, match=r"an array \(4, 5\) for pairs of 5 samples and 5 classes"):
        _sampled_classes.ascend(samples, coefs[:4], 1.0, EMPTY, W, EMPTY, b, True, 1)
    with pytest.raises(ValueError, match="4 samples, but classes of 5"):
        _sampled_classes.MiniBatch(*rows[:4], batch[:4], classes, 17)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_mini_batch_to_come_is_scored_with_the_weights_after_the_step(dense, n_threads):
    """Of classes that both mini-batches see, and of those that one of them sees."""
    _, y, W, b, rows, sampler, rng = problem(dense, n_classes=40)
    width = _adaptive_step.width_of_averages(41)
    averages = np.zeros((40, width), dtype=np.float32)
    stamps = np.zeros((40, _adaptive_step.stamps_of(width)), dtype=np.int32)
    scratch = _adaptive_step.Scratch(41, n_threads)
    for step in (1, 2):
        batch, coming = np.split(rng.permutation(24)[:8].astype(np.int32), 2)
        classes, importance = sampler.draw(y[batch], 0, step)
        to_see = sampler.draw(y[coming], 1, step)[0]
        assert set(to_see.ravel()) - set(classes.ravel())
        assert set(to_see.ravel()) & set(classes.ravel())
        coefs = rng.normal(size=classes.shape).astype(np.float32)
        psi = np.full(to_see.shape, np.nan, dtype=np.float32)
        following = _sampled_classes.MiniBatch(*rows[:4], coming, to_see, 40)
        _adaptive_step.ascend(
            _sampled_classes.MiniBatch(*rows[:4], batch, classes, 40),
            coefs,
            importance,
            EMPTY,
            step_of(0.1, 6.0, step),
            _adaptive_step.AdaptiveWeights(W, b, averages, stamps),
            following,
            psi,
            scratch,
            n_threads,
        )
        expected = np.empty_like(psi)
        _sampled_classes.scores_by_class(following, W, b, expected, n_threads)
        np.testing.assert_array_equal(psi, expected)
