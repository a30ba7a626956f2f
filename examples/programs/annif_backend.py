"""Program: PPDSparseClassifier as a backend of Annif
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
    name=PPDSparse English
    language=en
    backend=sklearn_xc
    analyzer=snowball(english)
    vocab=yso
    allow_learn=True

Besides Annif's ``limit``, parameters are ``min_df`` and ``ngram``, as of Annif's other backends,
and ``l1`` and ``l2`` of PPDSparseClassifier. Needs ``pip install annif sklearn-xc``.

The vectorizer and the model are in one file without pickle, which is mapped to suggest. With
``allow_learn`` it holds dual variables as well, and ``learn`` solves for old and new documents from
there: that takes less time than ``train`` and comes as near to the optimum. Words that only new
documents have wait for the next ``train``.
"""

import os.path
from typing import ClassVar

import annif.backend
import numpy as np
from annif.backend.backend import AnnifLearningBackend
from annif.exception import NotInitializedException, NotSupportedException
from annif.suggestion import SubjectSuggestion, SuggestionBatch
from annif.util import boolean
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline

from sklearn_xc import PPDSparseClassifier, load, save


class PPDSparseBackend(AnnifLearningBackend):
    """Trains one linear classifier for each subject, and suggests those of the highest scores."""

    name = "sklearn_xc"
    DEFAULT_PARAMETERS: ClassVar = {"min_df": 1, "ngram": 1, "l1": "auto", "l2": "auto"}
    MODEL_FILE = "xc-model.sxc"
    # "-train" in a name tells Annif that the file is not part of the model
    ROWS_FILE, SUBJECTS_FILE = "xc-train-rows.npz", "xc-train-subjects.npz"

    _model = None

    def initialize(self, parallel=False):
        if self._model is None:
            path = self._path(self.MODEL_FILE)
            if not os.path.exists(path):
                message = f"model {path} not found"
                raise NotInitializedException(message, backend_id=self.backend_id)
            # mapped: processes of a parallel evaluation or of a server share its memory
            self._model = load(path, mmap_mode="r").set_params(subjects__n_jobs=1)

    def _train(self, corpus, params, jobs=0):
        model = Pipeline([("words", words(params)), ("subjects", classifier(params))])
        if corpus == "cached":
            model = Pipeline([("words", self._saved().named_steps["words"]), model.steps[1]])
            X, Y = self._read_rows()
        else:
            texts, Y = self._documents(corpus, len(self.project.subjects))
            if not texts:
                raise NotSupportedException("Cannot train a project with no documents")
            X = model.named_steps["words"].fit_transform(texts)
        self._fit(model, X, Y, jobs)

    def _learn(self, corpus, params):
        model, (X, Y) = self._saved(), self._read_rows()
        # subjects that the vocabulary has got since then come after the others
        width = max(Y.shape[1], len(self.project.subjects))
        texts, more = self._documents(corpus, width)
        if not texts:
            return
        if width > Y.shape[1] or not model[-1].warm_start:
            fresh = clone(model[-1]).set_params(warm_start=True)  # dual variables of other subjects
            model = Pipeline([model.steps[0], ("subjects", fresh)])
            Y.resize(Y.shape[0], width)
        more_rows = model[:-1].transform(texts)
        self._fit(model, sparse.vstack([X, more_rows]), sparse.vstack([Y, more]))

    def _fit(self, model, X, Y, jobs=0):
        self.info(f"training on {X.shape[0]} documents, {X.shape[1]} words")
        X, Y = sparse.csr_array(X), sparse.csr_array(Y)
        model[-1].set_params(n_jobs=jobs or -1).fit(X, Y)
        sparse.save_npz(self._path(self.ROWS_FILE), X, compressed=False)
        sparse.save_npz(self._path(self.SUBJECTS_FILE), Y, compressed=False)
        save(model, self._path(self.MODEL_FILE))
        self._model = None  # to be mapped when it is asked

    def _suggest_batch(self, documents, params):
        X = self._model[:-1].transform([self._tokens(doc) for doc in documents])
        classifier = self._model[-1]
        k = min(int(params["limit"]), len(classifier.classes_))
        subjects, scores = classifier.predict_topk(X, k)
        scores = expit(scores)  # Annif's are from 0 to 1
        suggestions = (
            [SubjectSuggestion(int(s), float(score)) for s, score in zip(*row, strict=True)]
            if n_words
            else []
            for n_words, *row in zip(np.diff(X.indptr), subjects, scores, strict=True)
        )
        return SuggestionBatch.from_sequence(list(suggestions), self.project.subjects)

    def _documents(self, corpus, n_subjects):
        """Tokens of all documents that have subjects, and the indicator of these."""
        texts, indptr, indices = [], [0], []
        for doc in corpus.documents:
            subjects = sorted(doc.subject_set)
            if subjects:
                texts.append(self._tokens(doc))
                indices += subjects
                indptr.append(len(indices))
        ones = np.ones(len(indices), np.float32)
        return texts, sparse.csr_array((ones, indices, indptr), shape=(len(texts), n_subjects))

    def _tokens(self, doc):
        """Words as the analyzer of the project has them, which are none of a file's business."""
        return " ".join(self.project.analyzer.tokenize_words(doc.text))

    def _saved(self):
        self.initialize()
        return load(self._path(self.MODEL_FILE))

    def _read_rows(self):
        paths = self._path(self.ROWS_FILE), self._path(self.SUBJECTS_FILE)
        missing = [path for path in paths if not os.path.exists(path)]
        if missing:
            raise NotInitializedException(f"{missing[0]} not found", backend_id=self.backend_id)
        return tuple(sparse.load_npz(path) for path in paths)

    def _path(self, name):
        return os.path.join(self.datadir, name)


def words(params):
    """TF-IDF of tokens that stand between spaces."""
    return TfidfVectorizer(
        lowercase=False,
        token_pattern=r"\S+",
        min_df=int(params["min_df"]),
        ngram_range=(1, int(params["ngram"])),
        dtype=np.float32,
    )


def classifier(params):
    return PPDSparseClassifier(
        l1=penalty(params["l1"]),
        l2=penalty(params["l2"]),
        random_state=0,
        warm_start=boolean(params.get("allow_learn", False)),
    )


def penalty(text):
    """A number, or what PPDSparseClassifier takes in its place."""
    try:
        return float(text)
    except ValueError:
        return text


# Table of names and of functions that return the class.
annif.backend._backend_fns[PPDSparseBackend.name] = lambda: PPDSparseBackend

if __name__ == "__main__":
    from annif.cli import cli

    cli()
