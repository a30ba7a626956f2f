"""What MemoirSVC does that its users do not call: settings, passes, the model to predict with."""

import numpy as np
from scipy import sparse
from sklearn.metrics import f1_score
from sklearn.utils import check_random_state

from ..base._multiclass import BaseMulticlassClassifier
from ..calibration._mixin import CalibratedMixin
from ..persistence import require_lists
from ..topk._inverted_index import InvertedIndex
from ..utils._class_weight import weights_of_labels
from ..utils._convergence import number_of_passes, warn_not_converged
from ..utils._coordinates import Coordinates
from ..utils._matrix import as_rows, squared_norms
from ..utils._memory_limit import require_memory
from ..utils._minibatches import sorted_by_class
from ..utils._parallel import single_threaded_blas
from ..utils._random import stream
from ..utils._rows_seen import RowsSeen
from ._rival_search import choose_search, make_search
from ._train import Settings, Steps, Weights, model_of

CONSTANT = 1.0  # the value of the constant feature beside the root mean square length of samples
BYTES_OF_A_FEATURE = 32  # that no class uses
# alpha="auto", times the mean of ||x||^2 (or its root) over the weight of all samples
AUTO_ALPHA = {"l2": 0.3, "l1": 0.03}
LARGEST_ALPHA = 1e12
# max_iter="auto": passes over data of many samples, and with early stopping. Of few samples there
# are more, for so many samples make a step of `_convergence.FEWEST_STEPS`.
PASSES, PASSES_TO_STOP = 10, 100
SAMPLES_OF_A_STEP = 20
# batch_size="auto" is at most this part of the samples: the penalty acts between batches.
FEWEST_BATCHES = 10


class BaseMemoir(CalibratedMixin, BaseMulticlassClassifier):
    """The part of MemoirSVC that its users do not call."""

    def _partial_fit(self, X, codes, sample_weight, first):
        self._refuse_calibration()
        n_before = 0 if first else self.n_iter_
        sample_weight = self._with_class_weight(codes, sample_weight, first)
        X, codes, sample_weight = self._counted(X, codes, sample_weight)
        seed = stream(
            check_random_state(self.random_state).randint(2**31), "part", n_before
        ).integers(2**31)
        if first:
            self._start(X, sample_weight)
        X = self._coordinates.inside(X)
        rows = as_rows(X)
        self._see(rows, sample_weight)
        saved = None if first else self._saved
        # In the order given, so that parts of a stream do what the whole would do.
        self._train(
            rows, codes, sample_weight, saved, 1, int(seed), self._progress_of_part(),
            shuffled=sorted_by_class(codes),
        )  # fmt: skip
        self.n_iter_ = n_before + 1

    def _start(self, X, sample_weight):
        """Begin with nothing seen, in coordinates that suit the first rows."""
        self._coordinates, self._bias = Coordinates(), None
        if self.fit_intercept and not self.normalize_scores and not sparse.issparse(X):
            suited = Coordinates.of(X, sample_weight if sample_weight.size else None)
            if suited.mean is not None:  # mere length is what rates and penalties follow
                self._coordinates = suited
        self._seen, self._squares, self._n_visited, self._new = RowsSeen(), 0.0, 0, 0.0

    def _start_fit(self, X, sample_weight, start):
        """:meth:`_start`, and the weights that a warm start goes on from; None for a cold one."""
        if start is None:
            self._start(X, sample_weight)
            return None
        # The iterate, in its coordinates; rates, average and what is known of the data begin anew.
        coordinates, bias = self._coordinates, self._bias
        self._start(X, sample_weight)
        self._coordinates, self._bias = coordinates, bias
        arrays, (scale, _, square), _ = start
        return (*arrays[:3], np.empty(0, dtype=np.float32)), (scale, 0.0, square), 0

    def _see(self, rows, sample_weight):
        """Take rows into what is known of the data: their number, weight and mean length."""
        squares = squared_norms(rows)
        weight = sample_weight if sample_weight.size else np.ones(len(squares))
        self._squares += float(np.dot(squares, weight.astype(np.float64)))
        before = self._seen.n_rows
        self._seen = self._seen.with_rows(rows, weight)
        new = (self._seen.n_rows - before) / rows.shape[0]
        self._new = min(max(new, 0.0), 1.0) if before else 0.0

    def _counted(self, X, codes, sample_weight):
        """The samples without those of weight zero, which are nowhere."""
        if not sample_weight.size or sample_weight.all():
            return X, codes, sample_weight
        counted = sample_weight > 0
        return X[counted], codes[counted], sample_weight[counted]

    def _start_weights(self):
        return self._saved

    def _check_loaded(self):
        super()._check_loaded()
        if "_saved" in vars(self):  # a kernel follows its lists
            arrays, (scale, of_iterates, square), n_iterates = self._saved
            require_lists(arrays, self.n_features_in_ + 1, len(self.classes_))
            if not all(type(x) is np.float64 for x in (scale, of_iterates, square)):
                raise ValueError("the state of the iterates is not of float64")
            if type(n_iterates) is not int:
                raise ValueError("iterates are not counted in integers")
            if "_n_batches" in vars(self):  # of a version that kept less: rates begin anew
                del self._n_batches
                self._coordinates = Coordinates()
                self._seen, self._squares, self._n_visited, self._new = RowsSeen(), 0.0, 0, 0.0

    def _place_classes(self, places):
        (indptr, classes, *values), state, n_iterates = self._saved
        classes = places.astype(np.int32)[classes]  # ascending still: the places are
        self._saved = (indptr, classes, *values), state, n_iterates
        if "_totals" in vars(self):
            totals = np.zeros(len(self.classes_))
            totals[places] = self._totals
            self._totals = totals

    def _with_class_weight(self, codes, sample_weight, first):
        """Weights with those of the classes, of size 0 for 1; "balanced" by all calls' samples."""
        if self.class_weight is None:
            return np.empty(0, np.float32) if sample_weight is None else sample_weight
        weight = np.ones(len(codes)) if sample_weight is None else sample_weight
        totals = np.bincount(codes, weights=weight, minlength=len(self.classes_))
        if not first:
            totals += vars(self).get("_totals", 0)
        self._totals = totals
        factors = weights_of_labels(self.class_weight, self.classes_, totals)
        return (weight * factors[codes]).astype(np.float32)

    def _train(
        self, rows, codes, sample_weight, saved, n_passes, seed, progress, judge=None, shuffled=True
    ):
        """Make passes from the saved weights on.

        Parameters
        ----------
        rows : Rows
            In the coordinates of the fit.
        codes : ndarray of int32 (n_samples,)
        sample_weight : ndarray of float32 (n_samples,), or of size 0 for 1
        saved : tuple or None
        n_passes, seed : int
        progress : Progress
        judge : callable or None
            From the weights and the bias to a score; passes end when it no longer rises.
        shuffled : bool
            Whether passes visit the samples in random order.

        Returns
        -------
        curve, scores : list of float
            For each pass the mean loss, and what `judge` said.
        stopped : bool
            Whether it was `judge` that ended the passes, or a callback.
        """
        n_features = rows.shape[1]
        require_memory(
            BYTES_OF_A_FEATURE * n_features + 4 * len(self.classes_),
            f"fit: empty lists of the weights of {n_features} features",
            "use fewer features (hashing, or a feature selection step before)",
        )
        weights = Weights(len(self.classes_), n_features, self.average, saved)
        settings = self._settings()
        search = make_search(
            choose_search(self.search, rows, codes, weights.shape, self.sketch_dim),
            rows, settings.bias, weights,
            min_recall=self.min_recall, n_bits=self.n_bits, sketch_dim=self.sketch_dim,
            n_jobs=self.n_jobs, seed=seed,
        )  # fmt: skip
        mean_weight = self._seen.weight_of_visits / self._seen.n_visits
        steps = Steps(
            rows, codes, sample_weight, weights, settings, seed, mean_weight,
            shuffled, search, np.zeros(1, dtype=np.int32),
        )  # fmt: skip
        curve, scores, stopped = [], [], False
        for number in range(n_passes):
            progress.begin()
            try:
                with single_threaded_blas():  # once, not with every batch the index is asked for
                    loss = steps.epoch(number, self._n_visited)
            except FloatingPointError as error:
                raise ValueError(
                    f"{error}: use a smaller eta0 (here {settings.eta0:g}), or scale the features"
                ) from error
            self._n_visited += rows.shape[0]
            curve.append(loss)
            if judge is not None:
                scores.append(judge(weights, settings.bias))
            worse = len(scores) - 1 - int(np.argmax(scores or [0]))
            reached = {"loss": loss, "held_out_macro_F1": scores[-1] if scores else None}
            stopped = progress.end(weights, settings.bias, **reached)
            if stopped := stopped or worse >= self.n_iter_no_change:
                break
        self._saved = weights.save()
        self.n_scored_ = steps.n_scored / max(1, steps.n_visited)
        self.search_, self.recall_ = search.search_, search.recall_
        del weights, steps, search  # their memory is the fit's largest part
        self._set_model(self._saved, settings.bias)
        return curve, scores, stopped

    def _passes(self, n_samples):
        """How many, of so many samples."""
        usual = PASSES_TO_STOP if self.early_stopping else PASSES
        return number_of_passes(self.max_iter, usual, n_samples, SAMPLES_OF_A_STEP)

    def _warn_if_still_rising(self, stopped):
        if self.early_stopping and not stopped:
            warn_not_converged(
                f"the macro-averaged F1 of the samples kept apart was still rising within "
                f"n_iter_no_change={self.n_iter_no_change} passes when max_iter ended the fit "
                f"after {self.n_iter_}: use a larger max_iter"
            )

    def _set_model(self, saved, bias):
        """Predict with these weights from now on."""
        coef, intercept = self._finished(saved, bias)
        if not (np.isfinite(coef.data).all() and np.isfinite(intercept).all()):
            raise ValueError("the weights left the range of float32: scale the features")
        if len(self.classes_) == 2:
            coef, intercept = sparse.csr_array(coef[1:] - coef[:1]), intercept[1:] - intercept[:1]
        # Without the index: beside these weights and the lists that partial_fit goes on from it
        # would be the peak of the memory that a fit takes.
        self._set_linear_model(coef, intercept, indexed=False)

    def _settings(self):
        """The settings of the steps; "auto" from the rows of all calls so far.

        While rows are new, others are to come, of which nobody knows how many. In a pass over all
        of them half have come at the mean, and weights that they shrink and rates that they slow
        down are on their way by half: so an automatic penalty of new rows counts half.
        """
        seen, penalty, n_rows = self._seen, self.penalty, round(self._seen.n_rows)
        square = self._squares / seen.weight_of_visits or 1.0
        if self._bias is None:
            self._bias = float(CONSTANT * np.sqrt(square)) if self.fit_intercept else 0.0
        batch_size = self.batch_size
        if batch_size == "auto":
            # With "sum" the size is part of the objective: it stays the published one.
            most = n_rows / (FEWEST_BATCHES if self.reduction == "mean" else 1)
            batch_size = min(100 * np.sqrt(len(self.classes_)), most)
        batch_size = n_rows / max(1, round(n_rows / max(1, int(batch_size))))
        self.alpha_, self.eta0_, self.eta_step_ = self.alpha, self.eta0, self.eta_step
        if self.alpha == "auto":
            size = square if penalty == "l2" else np.sqrt(square)
            self.alpha_ = min(AUTO_ALPHA[penalty] * size / seen.weight, LARGEST_ALPHA)
        if self.eta0 == "auto":
            self.eta0_ = self.rho**2 / (square + self._bias**2)
            if self.reduction == "mean":
                self.eta0_ *= batch_size
        if self.eta_step == "auto":
            self.eta_step_ = self.alpha_ * self.eta0_
        by_now = 1 - self._new / 2 if self.alpha == "auto" else 1.0
        eta_step = self.eta_step_ * (by_now if self.eta_step == "auto" else 1.0)
        return Settings(
            penalty=self.penalty,
            alpha=float(self.alpha_ * by_now),
            rho=float(self.rho),
            batch_size=float(batch_size),
            reduction=self.reduction,
            eta0=float(self.eta0_),
            eta_step=float(eta_step),
            sampling=self.sampling,
            average=bool(self.average),
            bias=float(self._bias),
        )

    def _finished(self, saved, bias):
        """The weights and intercepts to predict with, of all classes."""
        coef, constant = model_of(saved, len(self.classes_), self.average)
        if self.normalize_scores:
            lengths = np.sqrt(coef.multiply(coef).sum(axis=1) + constant.astype(np.float64) ** 2)
            lengths[lengths == 0] = 1
            coef.data /= np.repeat(lengths, np.diff(coef.indptr)).astype(np.float32)
            constant = constant / lengths
        return self._outside(coef, bias * constant.astype(np.float64))

    def _outside(self, coef, intercept):
        """Weights for samples as they were given, from those for the coordinates of the fit."""
        if not self._coordinates.changes_nothing:
            scale, mean = self._coordinates.scale, self._coordinates.mean
            data = coef.data / scale[coef.indices]
            coef = sparse.csr_array(
                (data.astype(np.float32), coef.indices, coef.indptr), shape=coef.shape
            )
            intercept = intercept - coef.astype(np.float64) @ mean
        return coef, intercept.astype(np.float32)

    def _held_out_score(self, weights, bias, X, codes, sample_weight):
        index = InvertedIndex(*self._finished(weights.save(), bias))
        found = index.topk(as_rows(X), 1, self._threads())[0].ravel()
        return f1_score(codes, found, average="macro", zero_division=0, sample_weight=sample_weight)
