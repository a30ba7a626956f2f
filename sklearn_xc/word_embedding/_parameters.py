"""The ranges of the parameters of LDGSWordEmbedding."""

from collections.abc import Iterable
from numbers import Integral, Real

from ..base._validation import Interval, StrOptions
from ..training._schedules import DECAY
from ..utils._csr import LARGEST_INDEX

CONSTRAINTS = {
    "dim": [Interval(Integral, 2, 2**16, closed="both")],
    "window": [Interval(Integral, 1, 2**16, closed="both")],
    "gradient": [StrOptions({"decomposed", "mips", "sampled", "exact"})],
    "n_chunks": [Interval(Integral, 1, 2**16, closed="both")],
    "n_message_passes": [Interval(Integral, 0, 2**20, closed="both")],
    "query_size": [StrOptions({"auto"}), Interval(Integral, 1, LARGEST_INDEX, closed="both")],
    "index": [StrOptions({"spherical", "hnsw", "exact"})],
    "search_params": [dict, None],
    "unretrieved": [StrOptions({"sampled", "zero", "exclude"})],
    "n_frequent": [StrOptions({"auto"}), Interval(Integral, 0, LARGEST_INDEX, closed="both")],
    "n_sampled_classes": [
        StrOptions({"auto"}),
        Interval(Integral, 1, LARGEST_INDEX, closed="both"),
    ],
    "tau": [Interval(Real, 0, 1, closed="both")],
    "min_count": [Interval(Integral, 1, None, closed="left")],
    "max_vocabulary": [Interval(Integral, 2, LARGEST_INDEX, closed="both"), None],
    "vocabulary": [Iterable, None],
    "subsample": [Interval(Real, 0, 1, closed="both")],
    "n_negatives": [Interval(Integral, 1, 2**16, closed="both")],
    "n_init_epochs": [Interval(Integral, 0, None, closed="left")],
    "learning_rate": [Interval(Real, 0, 1e3, closed="right")],
    "decay": DECAY,
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "n_parts": [StrOptions({"auto"}), Interval(Integral, 1, LARGEST_INDEX, closed="both")],
    "batch_size": [Interval(Integral, 1, LARGEST_INDEX, closed="both")],
    "compute_loss": ["boolean"],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
}

SEARCH_PARAMS = {"n_centroids": (100, [Interval(Integral, 1, LARGEST_INDEX, closed="both")])}
