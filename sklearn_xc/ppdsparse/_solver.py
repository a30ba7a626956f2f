"""The run function of PPDSparse: blocks of classes over joblib, and their results as one."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._kernels.ppdsparse._problem import GROUP, ByteRows, Matrix, divide_columns, round_rows
from .._kernels.ppdsparse._problem import Problem as KernelProblem
from .._kernels.ppdsparse._results import name_entries
from .._kernels.ppdsparse._solver import N_LANES, Spare, solve_classes
from ..base._labels import pattern_of
from ..utils._callbacks import Progress
from ..utils._memory_limit import require_memory
from ..utils._parallel import blocks_of_classes, local_workers, run_blocks, tell
from ..utils._rows import Rows
from ..utils._scratch import Scratch
from ..utils._typing import Arrays
from ._assembly import SolvedPart, weights_of_classes
from ._checkpoint import Checkpoint
from ._finished import Finished
from ._ordering import Order, fast_order, order_given
from ._problem import OneVsRestProblem

LOWEST_SCORE = np.float32(-1e18)  # of classes without positives: finite, and below any other
DUALS = "dual_indptr", "dual_rows", "dual_values"  # of an earlier fit, class by class
# Of dense rows that are searched as bytes.
FEWEST_ROWS, FEWEST_CLASSES, FEWEST_FEATURES = 8192, 32, 16
MOST_FEATURES = 2**17  # a quarter of those whose sums of bytes are sure to stay within int32
LARGEST_ERROR = 0.03  # of a row by its length, in the mean: beyond it most rows may violate
ENTRY = 12  # bytes for each feature and lane: weights, v, and which features they are


def require_workspace(n_classes: int, n_features: int, n_jobs: int | None) -> None:
    """Require memory for the sixteen classes that each worker solves, or raise an error."""
    # A worker without a block of sixteen classes makes no workspace.
    n_workers = min(local_workers(n_jobs), -(-n_classes // N_LANES))
    require_memory(
        n_workers * n_features * N_LANES * ENTRY,
        f"fit: weights of {N_LANES} classes of {n_features} features for each of {n_workers} jobs",
        "use fewer features (VarianceThreshold() before it drops those that no sample has; a "
        "feature selection, or a smaller hashing, others), or fewer n_jobs",
    )


def fit_classes(
    problem: OneVsRestProblem,
    settings: dict[str, Any],
    *,
    feature_threshold: float,
    dual: sparse.csr_array | None,
    keep_dual: bool,
    n_jobs: int | None,
    progress: Progress,
    scratch: Scratch,
    checkpoint: Checkpoint | None = None,
    arranged: "Arranged | None" = None,
) -> dict[str, Any]:
    """Solve all classes, block by block, but for those that a `Checkpoint` has.

    `settings` is the kernel's `Settings`. The fit begins at `dual`, (n_columns, n_samples), if that
    is given; `arranged` is of the same problem and seed, where it is solved several times. A block
    is a step of `progress`. The result has coef and intercept for X as it was given, n_iter, gap,
    n_active and dual (see the attributes of the estimator), and n_visits, the rows that were read.
    """
    n_threads = local_workers(n_jobs)
    if arranged is None:
        arranged = arrange(problem, settings, feature_threshold, n_threads, scratch)
    blocks, samples = arranged.blocks, arranged.order.samples
    progress.start(len(blocks), name="block")
    arrays = arranged.arrays
    if dual is not None:
        # Columns in the order of the samples, of which those of weight zero are not there.
        arrays = {**arrays, **_dual_arrays(dual[:, samples])}
    finished = Finished(checkpoint, blocks, problem.rows.shape[::-1], scratch)
    # Blocks that a checkpoint has are steps of the fit as well.
    for part in finished.parts:
        if part is not None:
            tell(progress, part, _gap_of)
    # One `Spare` a fit: threads take workspaces from it, and other processes make their own.
    how = settings, keep_dual, Spare()
    _solve_missing(blocks, finished, how, arrays, n_jobs, progress)
    sizes = *problem.Y.shape[::-1], problem.rows.shape[1]
    result = _assemble(finished, sizes, scratch, n_threads)
    # Weights are those of rows inside; the caller gave X.
    model = problem.penalties.model_outside(result["coef"], result["intercept"])
    result["coef"], result["intercept"] = model
    return result


class Arranged(NamedTuple):
    """A problem as its blocks of classes get it, whatever the penalties."""

    order: Order
    blocks: list[np.ndarray]  # the classes of each
    arrays: Arrays  # of samples, features and classes: what `_solve_block` works on


def arrange(
    problem: OneVsRestProblem,
    settings: dict[str, Any],
    feature_threshold: float,
    n_threads: int,
    scratch: Scratch,
) -> Arranged:
    """Put a problem in the order in which it is solved; penalties in `settings` are not read."""
    order = _order_of(problem, settings["seed"])
    rows = problem.rows.reordered(*order, scratch.empty, n_threads)
    Y, sample_weight = problem.Y[order.samples], problem.sample_weight[order.samples]
    Y = Y.tocsc()
    Y.sort_indices()
    grades = Y.data if Y.dtype == np.float32 else None
    norms = rows.squared_norms().astype(np.float32)
    coarse = None
    # Section 5.3: the search may read larger entries only. Bytes are for searches that are exact.
    if feature_threshold > 0:
        coarse = rows.above(feature_threshold, scratch.empty)
    # Classes are independent given the data (section 4), so blocks need not talk to one another;
    # classes of like frequency converge alike and stay together.
    counts = pattern_of(Y.T) @ sample_weight.astype(np.float64)
    blocks = blocks_of_classes(np.asarray(counts), N_LANES)
    if not blocks:
        raise ValueError("no class of y has a positive sample with a weight above zero")
    rounded = None
    if coarse is None and not settings["sparsify"]:
        rounded = rounded_rows(rows, problem.Y.shape[1], scratch.empty)
    X = _matrix_of(rows, scratch, rounded, n_threads)
    in_kernel = KernelProblem(
        X,
        X if coarse is None else _matrix_of(coarse, scratch, None, n_threads),
        norms,
        sample_weight,
        problem.class_weight,
        *rows.extremes(),
        rows.weighted_norms(sample_weight),
        Y.indptr.astype(np.int64),
        Y.indices.astype(np.int32),
        grades,
    )
    arrays = {**in_kernel.arrays(), "features": order.features, "samples": order.samples}
    return Arranged(order, blocks, arrays)


def _order_of(problem: OneVsRestProblem, seed: int) -> Order:
    """Return the order of samples and features, those of dense rows as they are."""
    rows, weight = problem.rows, problem.sample_weight
    if rows.dense:
        return order_given(rows.shape[1], weight)
    return fast_order(np.diff(rows.indptr), rows.entry_counts(weight), seed, weight)


def rounded_rows(
    rows: Rows, n_classes: int, empty: Callable[..., np.ndarray] = np.empty
) -> ByteRows | None:
    """Return dense rows as `ByteRows`, or None for rows that are searched in float32."""
    n_samples, n_features = rows.shape
    # Rounding costs about as many operations as searches of FEWEST_CLASSES, and the lists that a
    # search by bytes ends with are shorter than the rows only where there are many of these.
    if not rows.dense or n_classes < FEWEST_CLASSES:
        return None
    if n_samples < FEWEST_ROWS or not FEWEST_FEATURES <= n_features <= MOST_FEATURES:
        return None
    values = empty((n_samples, -(-n_features // GROUP) * GROUP), np.uint8)
    scale, error, length = round_rows(rows.matrix(), values)
    # Where one entry is far above the others the rest rounds to nothing.
    if error.sum(dtype=np.float64) > LARGEST_ERROR * length.sum(dtype=np.float64):
        return None
    return ByteRows(values, scale, error, length)


def _solve_missing(
    blocks: list[np.ndarray],
    finished: Finished,
    how: tuple,
    arrays: Arrays,
    n_jobs: int | None,
    progress: Progress,
) -> None:
    """Solve the blocks that are not among the finished ones."""
    missing, stop = finished.missing(), np.zeros(1, dtype=np.int32)
    keep = None
    if finished.writes:

        def keep(place: int, part: SolvedPart) -> SolvedPart:
            return finished.add(missing[place], part)

    try:
        # The kernel sees Ctrl-C by `stop`, which threads share; processes are ended by joblib.
        solved = run_blocks(
            _solve_block,
            [blocks[number] for number in missing],
            *how,
            stop,
            tuple(arrays),
            *arrays.values(),  # each of its own, so that a Dask cluster gets it only once
            n_jobs=n_jobs,
            progress=progress,
            reached=_gap_of,
            keep=keep,
        )
    except BaseException:
        stop[0] = 1  # threads that are still at work give up
        raise
    for number, part in zip(missing, solved, strict=True):
        finished.parts[number] = part


def _solve_block(
    labels: np.ndarray,
    settings: dict[str, Any],
    keep_dual: bool,
    spare: Spare,
    stop: np.ndarray,
    names: tuple[str, ...],
    *values: np.ndarray,
) -> SolvedPart:
    """Solve the classes `labels`; the arrays of the problem have these names."""
    arrays = dict(zip(names, values, strict=True))
    features, samples = arrays.pop("features"), arrays.pop("samples")
    dual = tuple(arrays.pop(name) for name in DUALS if name in arrays)
    problem = KernelProblem.from_arrays(**arrays)
    part = SolvedPart(*solve_classes(settings, problem, labels, dual, keep_dual, stop, spare))
    # Positions in the fast order become the caller's numbers, while each worker has its own.
    name_entries(part.n_weights, *part.weights, features)
    name_entries(part.n_duals, *part.duals, samples)
    return part


def _gap_of(part: SolvedPart) -> dict[str, float]:
    """Return what a block has come to, for reports of progress."""
    return {"gap": float(part.gap.max())}


def _matrix_of(rows: Rows, scratch: Scratch, rounded: ByteRows | None, n_threads: int) -> Matrix:
    """Return the rows and, where they are sparse, the columns for kernels."""
    columns = ()
    if not rows.dense:
        columns = rows.columns(scratch.empty, 1 if scratch.on_disk else n_threads)
        columns = *columns, *divide_columns(*columns, rows.shape[0])
    given = rows.indptr, rows.indices, rows.data, rows.dense, rows.shape[1], *columns
    return Matrix(*given, rounded=rounded)


def _dual_arrays(dual: sparse.csr_array) -> Arrays:
    """Return CSR dual variables by the names and in the types that kernels take."""
    arrays = (
        dual.indptr.astype(np.int64),
        dual.indices.astype(np.int32),
        dual.data.astype(np.float32),
    )
    return dict(zip(DUALS, arrays, strict=True))


def _assemble(
    finished: Finished, sizes: tuple[int, int, int], scratch: Scratch, n_threads: int
) -> dict[str, Any]:
    """Put the classes of all blocks in their places; sizes are of columns, samples, features."""

    def each(name: str) -> list[np.ndarray]:
        return [getattr(part, name) for part in finished.parts]

    n_columns, n_samples, n_features = sizes
    of_blocks = each("labels")
    labels = np.concatenate(of_blocks)
    result = {
        # Classes that no block has, without positives, keep these.
        "intercept": np.full(n_columns, LOWEST_SCORE, dtype=np.float32),
        "gap": np.zeros(n_columns),
        "n_active": np.zeros(n_columns, dtype=np.int64),
        "n_iter": int(np.concatenate(each("n_iter")).max()),
        "n_visits": float(np.concatenate(each("n_visits")).sum()),
    }
    for name in "intercept", "gap", "n_active":
        result[name][labels] = np.concatenate(each(name))
    result["dual"] = weights_of_classes(
        of_blocks,
        each("n_duals"),
        finished.take("duals"),
        (n_columns, n_samples),
        n_threads=n_threads,
    )
    result["coef"] = weights_of_classes(
        of_blocks,
        each("n_weights"),
        finished.take("weights"),
        (n_columns, n_features),
        scratch.lasting,
        n_threads,
    )
    return result
