"""What a fit of Augment-and-Reduce warns of when it has ended."""

from ..softmax._base import BaseSoftmaxClassifier
from ..training._convergence import warn_not_converged
from ..utils._callbacks import FIT_CALLER
from ._train import Result

NOISE = 0.01  # share of the bound by which the last steps leave it now higher, now lower


def warn_of_end(model: BaseSoftmaxClassifier, result: Result, max_iter: int, cold: bool) -> None:
    """Warn where a fit ended too early, or lower than it began."""
    measure = "log-likelihood of the samples kept apart" if result.scores else "bound"
    if (model.tol is not None or result.scores) and not result.ended_by_itself:
        tol = 0 if model.tol is None else model.tol
        warn_not_converged(
            f"the {measure} still rose by more than tol={tol:g} of it over "
            f"n_iter_no_change={model.n_iter_no_change} passes when the {max_iter} passes of "
            "max_iter ended: increase max_iter or tol",
            stacklevel=FIT_CALLER + 1,
        )
    # A warm start may be better than what other data or another penalty lead to.
    if cold and result.end < result.start - NOISE * abs(result.start):
        # Variables that jitter may leave the bound below a good start.
        if not result.scores:
            measure = "log-likelihood"
        warn_not_converged(
            f"the {measure} ended at {result.end:.4g} a sample, below the {result.start:.4g} of "
            "its start: use a smaller learning_rate"
            + (" or a larger alpha" if model.early_stopping else ""),
            stacklevel=FIT_CALLER + 1,
        )
