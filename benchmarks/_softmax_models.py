"""The models and data sets of the softmax benchmark, by the names that figures are kept under."""

import _softmax_data as data

from sklearn_xc import AugmentReduceClassifier, ImplicitSoftmaxRegressor, PPDSparseClassifier

SCRIPT = "softmax"
SETS = ["bibtex", "docstrings", "oewn_hypernym", "omniglot", "oewn_hypernym-500"]
# Where only what comes without arguments is measured, beside PPDSparseClassifier.
WITHOUT_ARGUMENTS = ["corel5k", "cooking_fasttext", "delicious", "yso_finna_en_small"]
AR_GRID = [
    {"learning_rate": "auto", "init_scale": 0.1},
    {"learning_rate": "auto", "init_scale": 0.0},
    {"learning_rate": 1.0, "init_scale": 0.0},
]
MOST_EPOCHS = 50  # of Augment-and-Reduce, stopped by held-out rows
# Times the mean square of the rows' lengths, so that pixels and unit rows have one grid.
SCALED_RATES = [0.1, 1.0, 10.0, 100.0]
FINER = [0.3, 3.0]  # times the best of these
EPOCHS = [5, 20]
RIDGE, RIDGE_RATES = 0.02, [1.0, 10.0]  # tried with the larger number of epochs
AR = {
    "ar_exact": ("A&R: exact", {"bound": "exact"}),
    "ar_softmax": ("A&R: softmax", {"bound": "augment_reduce"}),
    "ar_probit": ("A&R: probit", {"model": "probit"}),
    "ar_logistic": ("A&R: logistic", {"model": "logistic"}),
    "ar_ove": ("A&R: one-vs-each", {"bound": "one_vs_each"}),
}
IMPLICIT = {
    "exact": ("Implicit: exact", {"solver": "exact"}),
    "implicit": ("Implicit: implicit", {"sampling": "uniform"}),
    "frequency": ("Implicit: implicit, by frequency", {"sampling": "frequency"}),
    "umax": ("Implicit: U-max", {"solver": "umax"}),
    "sgd": ("Implicit: vanilla", {"solver": "sgd"}),
    "ove": ("Implicit: one-vs-each", {"solver": "one_vs_each"}),
    "nce": ("Implicit: NCE", {"solver": "nce"}),
    "importance": ("Implicit: importance", {"solver": "importance"}),
}
AS_THEY_COME = {
    "ar_default": ("A&R: no arguments", AugmentReduceClassifier),
    "implicit_default": ("Implicit: no arguments", ImplicitSoftmaxRegressor),
}
PEERS = {
    "ppdsparse": "PPDSparseClassifier",
    "logistic_regression": "scikit-learn LogisticRegression",
    "sgd_classifier": "scikit-learn SGDClassifier (log loss)",
}
TITLES = {key: title for key, (title, _) in (AR | IMPLICIT | AS_THEY_COME).items()} | PEERS
CURVES = ["exact", "ar_exact", "ar_softmax", "ar_probit", "ar_logistic", "ar_ove", "implicit"]
CURVES += ["frequency", "umax"]
BESIDE = {
    "exact": {"learning_rate": 10.0, "max_iter": 4, "alpha": 0.0},
    "frequency": {"learning_rate": 5.0, "max_iter": 150, "alpha": 0.0},
}
# Model and threads; single implicit steps are sequential by definition.
ARMS = {"exact": ("exact", 2), "exact-1": ("exact", 1), "frequency": ("frequency", 1)}
ARM_TITLES = {
    "exact": "Implicit: exact, two threads",
    "exact-1": "Implicit: exact, one thread",
    "frequency": "Implicit: implicit, by frequency, one thread",
}
SEEDS = 3
THREADS = 2
MEANS = {"accuracy@1": 4, "log_likelihood": 3, "seconds": 1}
FEW_CLASSES_ONLY = ["logistic_regression", "sgd_classifier"]


def estimator(model, threads=THREADS, **parameters):
    if model in AR:
        options = {"tol": None} | AR[model][1] | parameters
        return AugmentReduceClassifier(n_jobs=threads, random_state=data.SEED, **options)
    if model in IMPLICIT:
        options = {"decay": "linear"} | IMPLICIT[model][1] | parameters
        return ImplicitSoftmaxRegressor(n_jobs=threads, random_state=data.SEED, **options)
    if model in AS_THEY_COME:
        return AS_THEY_COME[model][1](n_jobs=threads, random_state=data.SEED)
    if model == "ppdsparse":
        return PPDSparseClassifier(n_jobs=threads, random_state=data.SEED, **parameters)
    from sklearn.linear_model import LogisticRegression, SGDClassifier

    if model == "logistic_regression":
        return LogisticRegression(max_iter=100, **parameters)
    return SGDClassifier(loss="log_loss", n_jobs=threads, random_state=data.SEED, **parameters)
