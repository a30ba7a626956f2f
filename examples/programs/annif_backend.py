"""Program: LabelTextClassifier as a backend of Annif
==================================================

Annif indexes the texts of libraries by subject. This is its command line with one more backend::

    python examples/programs/annif_backend.py load-vocab yso subjects.tsv --language en
    python examples/programs/annif_backend.py train yso-xc titles.tsv
    echo "a history of lighthouses" | python examples/programs/annif_backend.py suggest yso-xc
    python examples/programs/annif_backend.py eval yso-xc more_titles.tsv

Every command is there (``run`` serves its web page). Annif keeps a fixed table of backends and
looks for no others, so this program adds a line to the table and hands over. A project of
projects.cfg uses the backend by name::

    [yso-xc]
    name=Stack English
    language=en
    backend=sklearn_xc
    analyzer=snowball(english)
    vocab=yso
    allow_learn=True

The names of the subjects are read as well as the documents, so that a subject is suggested that no
document has. ``method`` is one of

* ``stack`` (default): TopKStackingClassifier, the most precise;
* ``ppdsparse``: PPDSparseClassifier, with its parameters ``l1`` and ``l2``, in a fifth to two
  fifths of the time;
* ``neighbors``: TopKNeighborsClassifier, which takes in documents and subjects at once.

Besides these and Annif's ``limit``, parameters are ``min_df`` and ``ngram``, as of Annif's other
backends. Needs ``pip install annif sklearn-xc``.

Words, names and model are in one file without pickle, which is mapped to suggest. ``learn`` adds
documents, and the subjects that the vocabulary has got since: ``neighbors`` takes both in without
training; ``ppdsparse`` goes on from its dual variables unless there are new subjects, and words
that only new documents have wait for the next ``train``; ``stack`` is fitted again on all.
"""

import os.path
from typing import ClassVar

import annif.backend
import numpy as np
from annif.backend.backend import AnnifLearningBackend
from annif.exception import (
    ConfigurationException,
    NotInitializedException,
    NotSupportedException,
)
from annif.suggestion import SubjectSuggestion, SuggestionBatch
from annif.util import boolean
from scipy import sparse
from scipy.special import expit
from sklearn.feature_extraction.text import TfidfVectorizer

from sklearn_xc import (
    LabelTextClassifier,
    PPDSparseClassifier,
    TopKNeighborsClassifier,
    TopKStackingClassifier,
    load,
)


class LabelTextBackend(AnnifLearningBackend):
    """Learns subjects from documents and from what the subjects are called."""

    name = "sklearn_xc"
    DEFAULT_PARAMETERS: ClassVar = {
        "method": "stack",
        "min_df": 1,
        "ngram": 1,
        "l1": "auto",
        "l2": "auto",
    }
    MODEL_FILE = "xc-model.sxc"
    # "-train" in a name tells Annif that the file is not part of the model
    ROWS_FILE, SUBJECTS_FILE = "xc-train-rows.txt", "xc-train-subjects.npz"

    _model = None

    def initialize(self, parallel=False):
        if self._model is None:
            path = self._path(self.MODEL_FILE)
            if not os.path.exists(path):
                message = f"model {path} not found"
                raise NotInitializedException(message, backend_id=self.backend_id)
            # mapped: processes of a parallel evaluation or of a server share its memory
            self._model = load(path, mmap_mode="r")
            self._model.classifier_.set_params(n_jobs=1)

    def _train(self, corpus, params, jobs=0):
        if corpus == "cached":
            texts, Y = self._read_documents()
            Y = widened(Y, len(self.project.subjects))
        else:
            texts, Y = self._documents(corpus)
            if not texts:
                raise NotSupportedException("Cannot train a project with no documents")
        model = LabelTextClassifier(
            self._classifier(params), words(params), label_texts=self._names()
        )
        self._fit(model, texts, Y, jobs)

    def _learn(self, corpus, params):
        model, (texts, Y) = load(self._path(self.MODEL_FILE)), self._read_documents()
        more, Y_more = self._documents(corpus)
        n_known, names = Y.shape[1], self._names()
        Y = widened(Y, Y_more.shape[1])
        both, Y_both = texts + more, sparse.csr_array(sparse.vstack([Y, Y_more]))
        grown = Y.shape[1] > n_known
        new = {i: names.get(i) for i in range(n_known, Y.shape[1])}
        if params["method"] == "neighbors" and (any(new.values()) or not grown):
            if grown:
                model.add_labels(new)
            if more:
                model.partial_fit(more, Y_more)
            self._save(model, both, Y_both)
        elif params["method"] == "ppdsparse" and not grown:
            rows = model.vectorizer_.transform
            texts_of = rows([names.get(i, "") for i in range(n_known)])
            model.classifier_.set_params(n_jobs=-1)
            model.classifier_.fit(rows(both), Y_both, label_features=texts_of)
            self._save(model, both, Y_both)
        else:
            self._fit(model.set_params(label_texts=names), both, Y_both)

    def _fit(self, model, texts, Y, jobs=0):
        self.info(f"training on {len(texts)} documents, {Y.shape[1]} subjects")
        model.set_params(classifier__n_jobs=jobs or -1).fit(texts, Y)
        self._save(model, texts, Y)

    def _save(self, model, texts, Y):
        with open(self._path(self.ROWS_FILE), "w", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in texts)
        sparse.save_npz(self._path(self.SUBJECTS_FILE), Y, compressed=False)
        model.save(self._path(self.MODEL_FILE))
        self._model = None  # to be mapped when it is asked

    def _suggest_batch(self, documents, params):
        X = self._model.vectorizer_.transform([self._tokens(doc.text) for doc in documents])
        classifier = self._model.classifier_
        k = min(int(params["limit"]), len(classifier.classes_))
        if hasattr(classifier, "predict_proba"):
            subjects, scores = classifier.predict_topk(X, k, scores="proba")
        else:
            subjects, scores = classifier.predict_topk(X, k)
            scores = expit(scores)  # Annif's are from 0 to 1
        suggestions = (
            [SubjectSuggestion(int(s), float(score)) for s, score in zip(*row, strict=True)]
            if n_words
            else []
            for n_words, *row in zip(np.diff(X.indptr), subjects, scores, strict=True)
        )
        return SuggestionBatch.from_sequence(list(suggestions), self.project.subjects)

    def _documents(self, corpus):
        """Tokens of all documents that have subjects, and the indicator of these."""
        texts, indptr, indices = [], [0], []
        for doc in corpus.documents:
            subjects = sorted(doc.subject_set)
            if subjects:
                texts.append(self._tokens(doc.text))
                indices += subjects
                indptr.append(len(indices))
        shape = len(texts), len(self.project.subjects)
        ones = np.ones(len(indices), np.float32)
        return texts, sparse.csr_array((ones, indices, indptr), shape=shape)

    def _names(self):
        """Tokens of what the subjects are called in the language of the project."""
        language = self.project.vocab_lang
        names = {i: subject.labels.get(language) for i, subject in self.project.subjects.active}
        return {i: self._tokens(name) for i, name in names.items() if name}

    def _tokens(self, text):
        """Words as the analyzer of the project has them, which are none of a file's business."""
        return " ".join(self.project.analyzer.tokenize_words(text))

    def _read_documents(self):
        paths = self._path(self.ROWS_FILE), self._path(self.SUBJECTS_FILE)
        missing = [path for path in paths if not os.path.exists(path)]
        if missing:
            raise NotInitializedException(f"{missing[0]} not found", backend_id=self.backend_id)
        with open(paths[0], encoding="utf-8") as file:
            return file.read().split("\n")[:-1], sparse.csr_array(sparse.load_npz(paths[1]))

    def _classifier(self, params):
        method, penalties = params["method"], (params["l1"], params["l2"])
        if method == "ppdsparse":
            warm = boolean(params.get("allow_learn", False))
            l1, l2 = map(penalty, penalties)
            return PPDSparseClassifier(l1=l1, l2=l2, random_state=0, warm_start=warm)
        others = {"stack": TopKStackingClassifier, "neighbors": TopKNeighborsClassifier}
        if method not in others or penalties != ("auto", "auto"):
            raise ConfigurationException(
                f"method={method}, l1={penalties[0]}, l2={penalties[1]}: method is stack, "
                "ppdsparse or neighbors, and l1 and l2 are for ppdsparse",
                backend_id=self.backend_id,
            )
        return others[method](random_state=0)

    def _path(self, name):
        return os.path.join(self.datadir, name)


def words(params):
    """TF-IDF of tokens that stand between spaces."""
    return TfidfVectorizer(
        lowercase=False,
        token_pattern=r"\S+",
        min_df=int(params["min_df"]),
        ngram_range=(1, int(params["ngram"])),
        sublinear_tf=True,
        dtype=np.float32,
    )


def widened(Y, width):
    """Return an indicator with columns for subjects that came later."""
    return sparse.csr_array((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], width))


def penalty(text):
    """A number, or what PPDSparseClassifier takes in its place."""
    try:
        return float(text)
    except ValueError:
        return text


# Table of names and of functions that return the class.
annif.backend._backend_fns[LabelTextBackend.name] = lambda: LabelTextBackend

if __name__ == "__main__":
    from annif.cli import cli

    cli()
