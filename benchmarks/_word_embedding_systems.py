"""What word_embedding.py compares, and on which corpus."""

from sklearn_xc import LDGSWordEmbedding

DIM, WINDOW, MIN_COUNT, SUBSAMPLE, SEED, THREADS = 100, 8, 5, 1e-4, 0, 2
DEFAULT_PASSES = LDGSWordEmbedding().max_iter
OURS = {
    "exact": ("exact", {"gradient": "exact"}),
    "decomposed": ("decomposed", {}),
    "mips": ("MIPS", {"gradient": "mips"}),
    "sampled": ("sampled", {"gradient": "sampled"}),
    "mips_zero": (
        "MIPS, others scored 0 (Algorithm 1)",
        {"gradient": "mips", "unretrieved": "zero"},
    ),
    "decomposed_none": ("decomposed, others left out (as the authors)", {"unretrieved": "exclude"}),
    "decomposed_passes": (
        "decomposed, one message pass, others left out",
        {"unretrieved": "exclude", "n_message_passes": 1},
    ),
    "default": (f"decomposed, {DEFAULT_PASSES} passes (the default)", {"max_iter": DEFAULT_PASSES}),
    "published_start": (
        f"an epoch of negative sampling (published), then {DEFAULT_PASSES} passes",
        {"max_iter": DEFAULT_PASSES, "n_init_epochs": 1},
    ),
}
PEERS = {
    "neg5": "gensim, negative sampling (5)",
    "neg15": "gensim, negative sampling (15)",
    "hs": "gensim, hierarchical softmax",
}
TITLES = {key: title for key, (title, _) in OURS.items()} | PEERS
