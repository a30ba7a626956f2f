"""What ldgs.py compares: systems, their exact twins, data sets."""

SCRIPT = "ldgs"
EVALUATED = 6000  # test rows, and training rows, at random
CURVES = {
    "omniglot": {"hidden_dim": 128, "n_chunks": 8},
    "oewn_hypernym": {"hidden_dim": 128, "n_chunks": 8},
    "yso_finna_en_small": {"hidden_dim": 100, "n_chunks": 4, "query_size": 300},
    "delicious": {"hidden_dim": 100, "n_chunks": 4},
}
MULTICLASS = ("omniglot", "oewn_hypernym")
DECOMPOSED = {"gradient": "decomposed"}
PRINTED = {"gradient": "mips", "loss": "margin", "unretrieved": "zero"}
SYSTEMS = {
    "softmax": ("exact softmax", {"gradient": "exact"}),
    "margin": ("exact margin", {"gradient": "exact", "loss": "margin"}),
    "sampled": ("sampled softmax", {"gradient": "sampled"}),
    "mips": ("MIPS, margin", {"gradient": "mips", "loss": "margin"}),
    "mips_wide": (
        "MIPS, margin, as many candidates as all chunks",
        {"gradient": "mips", "loss": "margin"},
    ),
    "mips_printed": ("MIPS, margin, others count as 0", PRINTED),
    "decomposed": ("decomposed, margin", {"gradient": "decomposed", "loss": "margin"}),
    "decomposed_softmax": ("decomposed, softmax", {"gradient": "decomposed"}),
    "messages": (
        "decomposed, margin, one message pass",
        {"gradient": "decomposed", "loss": "margin", "n_message_passes": 1},
    ),
}
CHUNKS = 8
CLASS_SYSTEMS = {
    "softmax": ("exact softmax", {"gradient": "exact"}),
    "margin": ("exact margin", {"gradient": "exact", "loss": "margin"}),
    "mips": ("MIPS, margin", {"gradient": "mips", "loss": "margin"}),
    "decomposed": ("decomposed, margin", {"loss": "margin"} | DECOMPOSED),
    "decomposed_softmax": ("decomposed, softmax", DECOMPOSED),
    "half": (
        "decomposed, margin, half as many retrieved",
        {"loss": "margin", "query_share": 2 / CHUNKS} | DECOMPOSED,
    ),
    "half_softmax": (
        "decomposed, softmax, half as many retrieved",
        {"query_share": 2 / CHUNKS} | DECOMPOSED,
    ),
}
FASTTEXT_SETS = ["cooking_fasttext", "yso_finna_en_small"]
FASTTEXT = ["softmax", "hs", "ova"]
BESIDE_FASTTEXT = [("margin", 100), ("cross_entropy", 100), ("margin", 300), ("margin", 1000)]
