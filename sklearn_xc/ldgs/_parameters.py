"""The ranges of the parameters of LDGSClassifier."""

from numbers import Integral, Real

from ..base._validation import OF_EARLY_STOPPING, OF_TRAINING, Interval, RealNotInt, StrOptions
from ..utils._csr import LARGEST_INDEX

CONSTRAINTS = {
    "loss": [StrOptions({"cross_entropy", "margin", "triplet"})],
    "similarity": [StrOptions({"linear", "sqeuclidean"})],
    "gradient": [StrOptions({"auto", "decomposed", "mips", "sampled", "exact"})],
    "n_chunks": [Interval(Integral, 1, LARGEST_INDEX, closed="both")],
    "n_message_passes": [Interval(Integral, 0, 10**6, closed="both")],
    "query_size": [
        StrOptions({"auto"}),
        Interval(Integral, 1, LARGEST_INDEX, closed="both"),
        Interval(RealNotInt, 0, 1, closed="neither"),
    ],
    "query_threshold": [Interval(Real, 0, 1e12, closed="both"), None],
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
    "decay": [
        StrOptions({"linear", "inverse", "inverse_steps"}),
        Interval(Real, 0, 1, closed="right"),
    ],
    "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "alpha": [StrOptions({"auto"}), Interval(Real, 0, 1e12, closed="both")],
    **OF_EARLY_STOPPING,
    **OF_TRAINING,
    "label_names": ["array-like", None],
    "graded": ["boolean"],
}

# Section 5 of the paper, with the first of its rates, 1, 0.1 and 0.01, and without the number of
# passes: both are for each data set to find. Its systems, with one label a row (mu = 1, 8 chunks,
# rows as they are) and with several (mu = 5, 4 chunks, a layer of 100 columns).
_OF_ALL = {
    "similarity": "linear",
    "solver": "sgd",
    "batch_size": 10,
    "learning_rate": 1.0,
    "decay": "inverse_steps",
    "alpha": 0.0,
    "fit_intercept": False,
}
_SEARCHED = {
    "query_size": 0.01,
    "index": "spherical",
    "search_params": {"n_centroids": 100},
    "unretrieved": "zero",
}
_SYSTEMS = {
    "softmax": {"loss": "cross_entropy", "gradient": "exact"},
    "sampled_softmax": {
        "loss": "cross_entropy",
        "gradient": "sampled",
        "query_size": 0.01,
        "unretrieved": "exclude",
    },
    "margin": {"loss": "margin", "gradient": "exact"},
    "mips": {"loss": "margin", "gradient": "mips", **_SEARCHED},
    "decomposed": {"loss": "margin", "gradient": "decomposed", "n_message_passes": 1, **_SEARCHED},
}
_LABELS = {
    "multiclass": {"mu": 1.0, "n_chunks": 8, "hidden_dim": None},
    "multilabel": {"mu": 5.0, "n_chunks": 4, "hidden_dim": 100},
}
PUBLISHED = {
    f"{system}_{labels}": _OF_ALL | of_system | of_labels
    for system, of_system in _SYSTEMS.items()
    for labels, of_labels in _LABELS.items()
}

SEARCH_PARAMS = {
    "n_centroids": (None, [Interval(Integral, 1, LARGEST_INDEX, closed="both"), None]),
    "n_probes": (4, [Interval(Integral, 1, LARGEST_INDEX, closed="both")]),
}
