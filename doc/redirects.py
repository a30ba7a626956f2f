"""Old addresses of pages, each of which leads to the page of today; an extension of Sphinx."""

from pathlib import Path

from _gallery import GROUPS

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Moved</title>
<meta http-equiv="refresh" content="0; url={new}"><link rel="canonical" href="{new}"></head>
<body><p>This page is now <a href="{new}">{new}</a>.</p></body></html>
"""
MOVED = {
    "start": "start/first_model",
    "tutorial_tagger": "howto/tag_documents",
    "embeddings": "howto/embeddings",
    "choosing": "guide/choosing",
    "preparing": "guide/preparing",
    "tuning": "guide/tuning",
    "model_selection": "guide/evaluating",
    "predicting": "guide/predicting",
    "restrictions": "guide/restrictions",
    "calibration": "guide/probabilities",
    "thresholds": "guide/label_sets",
    "inspection": "guide/explaining",
    "saving": "guide/saving",
    "serving": "guide/serving",
    "growing": "guide/growing",
    "large_data": "guide/large_data",
    "clusters": "guide/large_data",
    "guide/clusters": "guide/large_data",
    "scikit_learn": "guide/scikit_learn",
    "user_guide": "guide/index",
    "ppdsparse": "estimators/ppdsparse",
    "memoir": "estimators/memoir",
    "ldgs": "estimators/ldgs",
    "augment_reduce": "estimators/augment_reduce",
    "implicit_softmax": "estimators/implicit_softmax",
    "neighbors": "estimators/neighbors",
    "word_embedding": "estimators/word_embedding",
    "mips": "estimators/mips",
    "coming_from_sklearn": "coming_from/sklearn",
    "coming_from_fasttext": "coming_from/fasttext",
    "coming_from_omikuji_pecos_napkinxc": "coming_from/omikuji_pecos_napkinxc",
    "coming_from_gensim": "coming_from/gensim",
    "glossary": "reference/glossary",
    "file_format": "reference/file_format",
    "threads": "reference/threads",
    "benchmark": "benchmarks/index",
    "develop": "development/contributing",
    "ppdsparse_solver": "development/ppdsparse_solver",
    "pruned_search": "development/pruned_search",
    "inverted_index": "development/inverted_index",
    "papers": "development/papers",
    "whats_new": "development/whats_new",
}
MOVED |= {  # the gallery had no folders before
    f"auto_examples/{name}": f"auto_examples/{folder}/{name}"
    for folder, names in GROUPS.items()
    for name in names
}


def write(app, exception):
    """Write a page at each old address; fail where it would lead nowhere."""
    if exception is not None or app.builder.format != "html":
        return
    site = Path(app.outdir)
    for old, new in MOVED.items():
        if not (site / f"{new}.html").exists():
            raise ValueError(f"the redirect of {old!r} leads to {new!r}, which is no page")
        href = "../" * old.count("/") + f"{new}.html"
        (site / f"{old}.html").write_text(PAGE.format(new=href), encoding="utf-8")


def setup(app):
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
