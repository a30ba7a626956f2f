"""What memoir.py compares: systems, parameters, data sets."""

from sklearn_xc import MemoirSVC
from sklearn_xc.memoir._growing_weights import GrowingWeights
from sklearn_xc.memoir._train import kernel
from sklearn_xc.mips import HNSWIndex

PUBLISHED = MemoirSVC.PUBLISHED
SCRIPT = "memoir"
SETS = ["oewn_hypernym", "omniglot", "docstrings", "yso_finna_en_small", "oewn_hypernym-500"]
CHOICE_SETS = ["bibtex", "cooking_fasttext", "corel5k", "oewn_hypernym", "omniglot", "docstrings"]
PASSES_SETS, PASSES = ["oewn_hypernym", "yso_finna_en_small"], [1, 3]
THREAD_SETS = ["docstrings", "oewn_hypernym-dense"]
PROFILE_SETS = ["oewn_hypernym-all", "oewn_hypernym-all-dense"]
PHASES = {  # of a pass: where it is spent, and the object and method that do it
    "index built": (HNSWIndex, "build"),
    "index updated": (HNSWIndex, "update"),
    "queries": (HNSWIndex, "candidates"),
    "weights copied": (GrowingWeights, "values"),
    "scores and steps": (kernel, "run_batch"),
}
DIMENSIONS = 128  # of the embedded docstrings
EXACT = {"search": "exact"}
SYSTEMS = {
    "exact": ("MemoirSVC, exact search", EXACT),
    "hnsw": ("MemoirSVC, hnsw", {"search": "hnsw"}),
    "lsh": ("MemoirSVC, lsh", {"search": "lsh"}),
    "lsh_256": ("MemoirSVC, lsh, 256 bits", {"search": "lsh", "search_params": {"n_bits": 256}}),
    "l1": ("MemoirSVC, l1, exact search", EXACT | {"penalty": "l1", "average": False}),
    "l1_hnsw": ("MemoirSVC, l1, hnsw", {"search": "hnsw", "penalty": "l1", "average": False}),
    "l1_lsh": ("MemoirSVC, l1, lsh", {"search": "lsh", "penalty": "l1", "average": False}),
    "published": ("MemoirSVC, published l2, exact search", PUBLISHED["l2"] | EXACT),
    "published_l1": ("MemoirSVC, published l1, exact search", PUBLISHED["l1"] | EXACT),
    "published_lsh": ("MemoirSVC, published lsh", PUBLISHED["lsh"]),
    "published_lsh_average": (
        "MemoirSVC, published lsh, averaged",
        PUBLISHED["lsh"] | {"average": True},
    ),
}
PEERS = {
    "ppdsparse": "PPDSparseClassifier",
    "crammer_singer": "scikit-learn LinearSVC, Crammer and Singer",
    "one_vs_rest": "scikit-learn OneVsRestClassifier (LinearSVC)",
}
TITLES = {key: title for key, (title, _) in SYSTEMS.items()} | PEERS
CHOICES = {
    "default": {},
    "without intercepts": {"fit_intercept": False},
    "last iterate": {"average": False},
    "cosines": {"normalize_scores": True},
    "last iterate, cosines": {"average": False, "normalize_scores": True},
    "classes drawn equally": {"sampling": "balanced"},
    "5 passes": {"max_iter": 5},
    "20 passes": {"max_iter": 20},
    "alpha a tenth": {"scaled_alpha": 0.03},
    "alpha ten times": {"scaled_alpha": 3.0},
    "published": PUBLISHED["l2"],
    "published, average": PUBLISHED["l2"] | {"average": True},
    "published, average, cosines": PUBLISHED["l2"] | {"average": True, "normalize_scores": True},
}
BATCHES = [0.1, 1, 10, 100, 1000]  # times sqrt(K), table 2
STRENGTHS = [1e-7, 1e-6, 1e-5, 1e-4, 1e-3]  # figure 1
