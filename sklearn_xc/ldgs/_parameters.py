"""The ranges of the parameters of LDGSClassifier."""

from numbers import Integral, Real

from ..base._validation import WEIGHT_OF_TEXTS, Interval, StrOptions
from ..utils._csr import LARGEST_INDEX
from ..utils._schedules import DECAY

CONSTRAINTS = {
    "loss": [StrOptions({"cross_entropy", "margin", "triplet"})],
    "similarity": [StrOptions({"linear", "sqeuclidean"})],
    "gradient": [StrOptions({"auto", "decomposed", "mips", "sampled", "exact"})],
    "n_chunks": [Interval(Integral, 1, LARGEST_INDEX, closed="both")],
    "n_message_passes": [Interval(Integral, 0, 10**6, closed="both")],
    "query_size": [StrOptions({"auto"}), Interval(Integral, 1, LARGEST_INDEX, closed="both")],
    "index": [StrOptions({"spherical", "hnsw", "exact"})],
    "search_params": [dict, None],
    "tau": [Interval(Real, 0, 1e12, closed="both")],
    "unretrieved": [StrOptions({"exclude", "sampled", "zero"})],
    "mu": [Interval(Real, 1e-6, 1e6, closed="both")],
    "hidden_dim": [StrOptions({"auto"}), Interval(Integral, 1, 2**16, closed="both"), None],
    "fit_intercept": ["boolean"],
    "warmup": [StrOptions({"auto"}), Interval(Real, 0, 1e9, closed="both")],
    "batch_size": [Interval(Integral, 1, LARGEST_INDEX, closed="both")],
    "solver": [StrOptions({"auto", "adagrad", "sgd"})],
    "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, 1e12, closed="right")],
    "decay": DECAY,
    "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "alpha": [StrOptions({"auto"}), Interval(Real, 0, 1e12, closed="both")],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    "label_feature_weight": WEIGHT_OF_TEXTS,
    "label_names": ["array-like", None],
    "graded": ["boolean"],
}

SEARCH_PARAMS = {
    "n_centroids": (None, [Interval(Integral, 1, LARGEST_INDEX, closed="both"), None]),
    "n_probes": (4, [Interval(Integral, 1, LARGEST_INDEX, closed="both")]),
}
