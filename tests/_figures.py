"""Which sentences of the pages quote which figures of the benchmarks.

Each entry is a page, a text of it with braces instead of its figures, and a function from what
is kept to these figures, in the order of the braces. ``k.peers.bibtex.ppdsparse`` is what
``benchmarks/results/peers.json`` holds under these keys; keys that are no names stand in brackets.
``k.cell("earlier", "omniglot", "exact softmax", "P@1")`` is a cell of a table of a page that was
there before its file of figures: page, heading, first cell of the row, column.
"""

from decimal import ROUND_HALF_UP, Decimal

README, PAPERS = "README.md", "doc/development/papers.rst"
LDGS, HOW_MEMOIR = "doc/development/ldgs_method.rst", "doc/development/memoir_method.rst"


def fixed(value, decimals):
    """Half up, so that 62.15 is 62.2."""
    value = Decimal(repr(round(float(value), 10)))
    return str(value.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))


def significant(value, digits=3):
    """Some significant digits without an exponent, as tables have them."""
    return fixed(value, max(0, digits - 1 - int(f"{value:e}".partition("e")[2])))


def percents(shares, decimals=2):
    return [fixed(100 * share, decimals) for share in shares]


def percent(share, decimals=1):
    return percents([share], decimals)[0]


# ------------------------------------------------------------------------- beside other libraries


def row_of_readme(r):
    """Seconds, ms a row, P@1, P@5 and MB."""
    p1, _, p5 = percents(r.precision, 1)
    return [*(significant(min(r[key]), 2) for key in ("train_s", "predict_ms")), p1, p5] + [
        significant(r.model_mb, 2)
    ]


def readme(title, data, system):
    text = f"| {title} | {{}} | {{}} | {{}} | {{}} | {{}} |"
    group = {
        "amazon670k_shape": lambda k: k.sizes.amazon670k_shape,
        "lemmas": lambda k: k.sizes.lemmas,
    }
    of_data = group.get(data, lambda k: k.peers[data])
    return README, text, lambda k: row_of_readme(of_data(k)[system])


OURS, XR, OVA = "**PPDSparseClassifier**", "PECOS XR-Linear", "PECOS one-vs-all"
FIGURES = [
    readme(OURS, "delicious", "ppdsparse"),
    readme(OVA, "delicious", "pecos_ova"),
    readme("PECOS XR-Linear, a tree", "delicious", "pecos_xr"),
    readme("scikit-learn, OneVsRestClassifier(LinearSVC)", "delicious", "ovr_svc"),
    readme(OURS, "yso_finna_en_small", "ppdsparse"),
    readme(OVA, "yso_finna_en_small", "pecos_ova"),
    readme(XR, "yso_finna_en_small", "pecos_xr"),
    readme(OURS, "yso_finna_en", "ppdsparse"),
    readme(XR, "yso_finna_en", "pecos_xr"),
    readme("omikuji, another tree", "yso_finna_en", "omikuji_wide"),
    readme(OURS, "amazon670k_shape", "ppdsparse"),
    readme(XR, "amazon670k_shape", "pecos_xr"),
    readme(OURS, "lemmas", "ppdsparse"),
    readme(XR, "lemmas", "pecos_xr"),
    readme("omikuji, another tree", "lemmas", "omikuji"),
    (
        README,
        "Samples of 1,150 words with 30,938 labels take {} s and {} MB where PECOS's tree takes {} "
        "and {}.",
        lambda k: [
            significant(value, 2)
            for system in ("ppdsparse", "pecos_xr")
            for r in [k.peers.wiki10_shape[system]]
            for value in (min(r.train_s), r.model_mb)
        ],
    ),
    (
        README,
        "Names of 115,183 places take {} processor seconds where PECOS's tree takes {} (P@1 {} and "
        "{} %).",
        lambda k: [
            *(fixed(k.sizes.places[s].train_cpu_s, 0) for s in ("ppdsparse", "pecos_xr")),
            *(percents(k.sizes.places[s].precision, 1)[0] for s in ("ppdsparse", "pecos_xr")),
        ],
    ),
    (
        README,
        "({} % of its first labels there are right, {} % of ours)",
        lambda k: [
            percents(k.peers.oewn_hypernym[s].precision, 1)[0]
            for s in ("omikuji_wide", "ppdsparse")
        ],
    ),
]

# -------------------------------------------------------------------------------------- the papers


def table_2(r):
    ms = significant(min(r.predict_ms))
    return [*percents(r.precision), significant(min(r.train_s)), significant(r.model_mb), ms]


def as_published(r):
    return [fixed(p, 2) for p in r.precision] + [significant(r.cpu_s), significant(r.model_mb)]


def core_hours(r):
    return f"{r.train_s[0]:.0f}", fixed(r.train_cpu_s / 3600, 2)


def amazon(k):
    given = k.sizes.amazon670k_shape.ppdsparse_2
    default = k.sizes.amazon670k_shape.ppdsparse
    precision = [percents(r.precision, 1)[0] for r in (given, default)]
    return [*core_hours(given), *core_hours(default), *precision]


def of_memoir(system):
    def figures(k):
        r = k.papers.memoir[f"oewn_hypernym-{system}"]
        seconds = r.cpu_s if "cpu_s" in r else r.seconds
        return [percent(r.accuracy), percent(r.macro_f1), significant(seconds)] + [
            fixed(r.memory_mb, 0)
        ]

    return figures


def memoir(title, system):
    return PAPERS, f"* - {title} - {{}} % - {{}} % - {{}} - {{}}", of_memoir(system)


def of_augment_reduce(data, column, paper):
    """A row of table 3, the paper's figures between ours."""
    return (
        PAPERS,
        f"* - {column[1]} - {paper[0]} - {{}} - {paper[1]} - {{}}",
        lambda k: [
            fixed(k.papers.augment_reduce[f"{data}-{column[0]}"][key], 3)
            for key in ("log_likelihood", "accuracy@1")
        ],
    )


EXACT, OVE = ("exact", "exact softmax"), ("one_vs_each", "one-vs-each")
SOFTMAX, PROBIT = ("softmax", "softmax A&R"), ("probit", "probit A&R")
LOGISTIC = "logistic", "logistic A&R"


def ratio(k, data, solver):
    loss = {s: k.papers["implicit, auto"][f"{data}-{s}"].loss for s in ("implicit", solver)}
    return "not finite" if loss[solver] is None else significant(loss[solver] / loss["implicit"])


def by_rule(k, solver):
    kept = k.papers.implicit
    return significant(kept[f"bibtex-{solver}"].loss / kept["bibtex-implicit"].loss)


def table_3(title, solver, bibtex, delicious):
    return (
        PAPERS,
        f"* - {title} - {bibtex} - {{}} - {{}} - {delicious} - {{}}",
        lambda k: [by_rule(k, solver), ratio(k, "bibtex", solver), ratio(k, "delicious", solver)],
    )


def of_ldgs(k, name, row, column="of its exact twin"):
    return k.cell("earlier", name, row, column).rstrip(" %")


def sampled_and_exact(k):
    names = "omniglot", "yso_finna_en_small"
    for name in names:
        for key in ("sampled_softmax", "sampled_weighted"):
            yield k.papers.ldgs[f"{name}-{key}"].precision[0]
        yield of_ldgs(k, name, "exact softmax", "P@1")
    for name in names:
        yield of_ldgs(k, name, "exact margin", "P@1")


def share_of_dense(k):
    """Of 8 bytes for each class and feature, the memory of the default fit."""
    r = k.papers.memoir["oewn_hypernym-exact"]
    return fixed(8 * r.classes * r.features / 2**20 / r.memory_mb, 0)


FIGURES += [
    (
        PAPERS,
        "* - ours, defaults - {} - {} - {} - {} - {} - {}",
        lambda k: table_2(k.peers.bibtex.ppdsparse),
    ),
    (
        PAPERS,
        "* - ours, the paper's settings - {} - {} - {} - {} - {}",
        lambda k: as_published(k.papers.ppdsparse["bibtex-squared_hinge"]),
    ),
    (
        PAPERS,
        "{} s on two processors, {} core-hours with ``l1=0.1, l2=1``, and {} s, {} core-hours with "
        "the defaults, which choose the penalties first. The generated rows are easier (P@1 {} and "
        "{})",
        amazon,
    ),
    memoir("ours, defaults (l2, exact search)", "exact"),
    memoir("ours, l1, exact search", "l1"),
    memoir("ours, l2, graph", "hnsw"),
    memoir("ours, published l2, exact search", "published"),
    (
        PAPERS,
        "l2 by exact search has an accuracy of {} % and a macro-F1 of {} %, LSH {} and {} %, with "
        "{} of 18,579 classes scored for a row",
        lambda k: [
            *(
                percent(k.papers.memoir[f"oewn_hypernym-{key}"][part])
                for key in ("l2", "lsh")
                for part in ("accuracy", "macro_f1")
            ),
            f"{k.papers.memoir['oewn_hypernym-lsh'].n_scored:,.0f}",
        ],
    ),
    (PAPERS, "it is 1/{} of dense weights in float64 here", lambda k: [share_of_dense(k)]),
    (HOW_MEMOIR, "and the paper counts them: 1/{},", lambda k: [share_of_dense(k)]),
    (
        PAPERS,
        "omniglot, 1,623 classes: decomposed keeps {} % of the exact precision, plain search {} %",
        lambda k: [
            fixed(of_ldgs(k, "omniglot", row), 0) for row in ("decomposed, margin", "MIPS, margin")
        ],
    ),
    (
        PAPERS,
        "yso_finna_en_small, 14,383: decomposed {} % of exact",
        lambda k: [fixed(of_ldgs(k, "yso_finna_en_small", "decomposed, margin"), 0)],
    ),
    (
        PAPERS,
        "softmax learns *slower* by epochs here ({} against {} %)",
        lambda k: [
            fixed(of_ldgs(k, "yso_finna_en_small", f"exact {loss}", "P@1"), 1)
            for loss in ("softmax", "margin")
        ],
    ),
    (
        PAPERS,
        "omniglot {} (with weights {}, exact {}); yso_finna_en_small {} ({}, {}); the margin "
        "has {} and {}",
        lambda k: [fixed(value, 1) for value in sampled_and_exact(k)],
    ),
    of_augment_reduce("bibtex", EXACT, (-3.188, "0.361")),
    of_augment_reduce("bibtex", OVE, ("-3.300", 0.352)),
    of_augment_reduce("bibtex", SOFTMAX, (-3.036, "0.361")),
    of_augment_reduce("bibtex", PROBIT, (-4.184, 0.346)),
    of_augment_reduce("bibtex", LOGISTIC, (-3.151, 0.353)),
    of_augment_reduce("omniglot", OVE, (-5.667, 0.179)),
    of_augment_reduce("omniglot", SOFTMAX, (-5.171, 0.201)),
    of_augment_reduce("omniglot", PROBIT, ("-7.350", 0.178)),
    of_augment_reduce("omniglot", LOGISTIC, (-5.395, 0.184)),
    (
        PAPERS,
        "* - softmax A&R - -2.62e6 - {} - 3.00e-6 - {}",
        lambda k: [
            short(k.papers.augment_reduce["synthetic-augment_reduce"][key])
            for key in ("watched", "error_empirical")
        ],
    ),
    (
        PAPERS,
        "* - one-vs-each - -1.40e9 - {} - 3.65e-6 - {}",
        lambda k: [
            short(k.papers.augment_reduce["synthetic-one_vs_each"][key])
            for key in ("bound", "error_empirical")
        ],
    ),
    table_3("U-max", "umax", "9.77", "1.11"),
    table_3("vanilla SGD", "sgd", "15.18", "1.25"),
    table_3("one-vs-each", "one_vs_each", "29.03", "1.90"),
    table_3("noise contrastive estimation", "nce", "28.52", "1.91"),
    table_3("importance sampling", "importance", "32.71", "1.89"),
]


def short(value):
    """With two decimals and a short exponent: -2.64e6."""
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


# ----------------------------------------------------------------------------- pages of methods

TWINS = {"omniglot": "1,623", "delicious": "983", "oewn_hypernym": "20,560"}
TWINS |= {"yso_finna_en_small": "14,383"}
FIGURES += [
    (
        LDGS,
        f"{name} ({classes}) {{}} % {{}} % {{}}, exact {{}} {{}}, exact {{}}",
        lambda k, name=name: [
            shown(of_ldgs(k, name, "decomposed, softmax")),
            shown(of_ldgs(k, name, "decomposed, margin")),
            *(
                of_ldgs(k, name, f"{kind}{loss}", "seconds")
                for loss in ("softmax", "margin")
                for kind in ("decomposed, ", "exact ")
            ),
        ],
    )
    for name, classes in TWINS.items()
]


def shown(value):
    """A per cent with three digits and more: 99.8 but 107."""
    return value if float(value) < 105 else fixed(value, 0)


# Numbers on pages of users that no run has measured, by the reason why they may be typed.
CONSTANTS = {
    "doc/_good_at.rst": ["0.007"],  # one of 14,383
    "doc/coming_from/fasttext.rst": ["0.5", "0.2", "0.1"],  # rates that were tried
    "doc/coming_from/gensim.rst": ["3.8"],  # million tokens
    "doc/coming_from/sklearn.rst": ["0.03"],  # a default
    "doc/estimators/augment_reduce.rst": ["0.05"],  # a default
    "doc/estimators/implicit_softmax.rst": ["0.05"],  # a default
    "doc/estimators/memoir.rst": ["0.3"],  # a default
    "doc/estimators/word_embedding.rst": ["5.3"],  # a section
    "doc/guide/choosing.rst": ["3.2"],  # 20,000 times 40,000 times 4 bytes
    "doc/guide/growing.rst": ["2.5", "2 %"],  # a class; what a test holds
    "doc/guide/large_data.rst": ["17 GB", "2 %", "3 GB"],  # of 64 bits; of a test; a limit set
    "doc/guide/preparing.rst": ["700 MB"],  # 50,000 times 14,000 bytes
    "doc/guide/saving.rst": ["0.05"],  # a threshold
    "doc/guide/scikit_learn.rst": ["0.3", "0.03", "0.04", "0.05"],  # defaults
    "doc/guide/tuning.rst": ["0.3"],  # a grade
    "doc/reference/faq.rst": ["20 %", "0.007"],  # of a question; one of 14,383
    "doc/start/install.rst": ["1 GB"],  # what is needed
    "doc/start/tutorial.rst": ["0.1"],  # one of about a thousand
}
