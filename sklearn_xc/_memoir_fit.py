"""What MemoirSVC does that its users do not call: settings, passes, the model to predict with."""

import numpy as np
from scipy import sparse
from sklearn.metrics import f1_score
from sklearn.utils import check_random_state

from ._calibrated import CalibratedMixin
from ._callbacks import SILENT
from ._class_weight import weights_of_labels
from ._double_sum import squared_norms
from ._memoir_search import choose_search, make_search
from ._memoir_steps import Settings, Steps, Weights, model_of
from ._memory import require_memory
from ._multiclass import BaseMulticlassClassifier
from ._parallel import single_threaded_blas
from ._persistence import require_lists
from ._rows import as_rows
from ._topk import InvertedIndex

CONSTANT = 1.0  # the value of the constant feature beside the root mean square length of samples
BYTES_OF_A_FEATURE = 32  # that no class uses
# alpha="auto", times the mean of ||x||^2 (or its root) over the number of samples
AUTO_ALPHA = {"l2": 0.3, "l1": 0.03}


class BaseMemoir(CalibratedMixin, BaseMulticlassClassifier):
    """The part of MemoirSVC that its users do not call."""

    def _partial_fit(self, X, codes, sample_weight, first):
        self._refuse_calibration()
        saved = None if first else self._saved
        n_batches, n_before = (0, 0) if first else (self._n_batches, self.n_iter_)
        sample_weight = self._with_class_weight(codes, sample_weight)
        seed = np.random.default_rng(
            [check_random_state(self.random_state).randint(2**31), n_batches]
        ).integers(2**31)
        nobody = np.zeros(len(codes), dtype=bool)
        self._train(X, codes, sample_weight, nobody, saved, n_batches, 1, int(seed))
        self.n_iter_ = n_before + 1

    def _start_weights(self):
        return self._saved

    def _check_loaded(self):
        super()._check_loaded()
        if "_saved" in vars(self):  # a kernel follows its lists
            arrays, (scale, of_iterates, square), n_iterates = self._saved
            require_lists(arrays, self.n_features_in_ + 1, len(self.classes_))
            if not all(type(x) is np.float64 for x in (scale, of_iterates, square)):
                raise ValueError("the state of the iterates is not of float64")
            if type(n_iterates) is not int or type(self._n_batches) is not int:
                raise ValueError("iterates and batches are not counted in integers")

    def _place_classes(self, places):
        (indptr, classes, *values), state, n_iterates = self._saved
        classes = places.astype(np.int32)[classes]  # ascending still: the places are
        self._saved = (indptr, classes, *values), state, n_iterates

    def _with_class_weight(self, codes, sample_weight):
        if self.class_weight is None:
            return np.empty(0, np.float32) if sample_weight is None else sample_weight
        weight = np.ones(len(codes)) if sample_weight is None else sample_weight
        counts = np.bincount(codes, weights=weight, minlength=len(self.classes_))
        factors = weights_of_labels(self.class_weight, self.classes_, counts)
        return (weight * factors[codes]).astype(np.float32)

    def _train(
        self, X, codes, sample_weight, held_out, saved, n_batches, n_passes, seed, progress=SILENT
    ):
        """Make passes from the saved weights on; the mean loss of each, and the F1 held out."""
        trained = np.flatnonzero(~held_out)
        kept_apart = X[held_out], codes[held_out]
        if held_out.any():
            X, codes = X[trained], codes[trained]
            sample_weight = sample_weight[trained] if sample_weight.size else sample_weight
        rows = as_rows(X)
        require_memory(
            BYTES_OF_A_FEATURE * X.shape[1] + 4 * len(self.classes_),
            f"fit: empty lists of the weights of {X.shape[1]} features",
            "use fewer features (hashing, or a feature selection step before)",
        )
        weights = Weights(len(self.classes_), X.shape[1], self.average, saved)
        settings = self._settings(rows, sample_weight, n_batches == 0)
        self.search_ = choose_search(self.search, rows, codes, weights.shape, self.sketch_dim)
        search = make_search(
            self.search_, rows, settings.bias, weights,
            min_recall=self.min_recall, n_bits=self.n_bits, sketch_dim=self.sketch_dim,
            n_jobs=self.n_jobs, seed=seed,
        )  # fmt: skip
        steps = Steps(
            rows, codes, sample_weight, weights, settings, seed, search,
            np.zeros(1, dtype=np.int32),
        )  # fmt: skip
        curve, scores = [], []
        for number in range(n_passes):
            progress.begin()
            try:
                with single_threaded_blas():  # once, not with every batch the index is asked for
                    loss, n = steps.epoch(number, n_batches)
            except FloatingPointError as error:
                raise ValueError(
                    f"{error}: use a smaller eta0 (here {settings.eta0:g}), or scale the features"
                ) from error
            n_batches += n
            curve.append(loss)
            if held_out.any():
                scores.append(self._held_out_score(weights, settings.bias, *kept_apart))
            if self.verbose:
                reached = f", held-out macro-F1 {scores[-1]:.4f}" if scores else ""
                print(f"pass {number + 1}: mean loss {loss:.5g}{reached}")
            worse = len(scores) - 1 - int(np.argmax(scores or [0]))
            if progress.end(weights, settings.bias) or worse >= self.n_iter_no_change:
                break
        self._saved, self._n_batches = weights.save(), n_batches
        self.n_scored_ = steps.n_scored / max(1, steps.n_visited)
        self.recall_ = search.recall_
        del weights, steps, search  # their memory is the fit's largest part
        self._set_model(self._saved, settings.bias)
        return curve, scores

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

    def _settings(self, rows, sample_weight, first):
        """The settings of the steps; "auto" from the data of the first call."""
        n_samples, n_classes = rows.shape[0], len(self.classes_)
        weight = sample_weight if sample_weight.size else None
        square = float(np.average(squared_norms(rows), weights=weight)) or 1.0
        batch_size = 100 * np.sqrt(n_classes) if self.batch_size == "auto" else self.batch_size
        batch_size = min(int(batch_size), n_samples)
        if first:
            self.alpha_, self.eta0_, self.eta_step_ = self.alpha, self.eta0, self.eta_step
            self._bias = CONSTANT * np.sqrt(square) if self.fit_intercept else 0.0
            if self.alpha == "auto":
                size = square if self.penalty == "l2" else np.sqrt(square)
                self.alpha_ = AUTO_ALPHA[self.penalty] * size / n_samples
            if self.eta0 == "auto":
                self.eta0_ = self.rho**2 / (square + self._bias**2)
                if self.reduction == "mean":
                    self.eta0_ *= batch_size
            if self.eta_step == "auto":
                self.eta_step_ = self.alpha_ * self.eta0_
        return Settings(
            penalty=self.penalty,
            alpha=float(self.alpha_),
            rho=float(self.rho),
            batch_size=batch_size,
            reduction=self.reduction,
            eta0=float(self.eta0_),
            eta_step=float(self.eta_step_),
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
        return coef, (bias * constant).astype(np.float32)

    def _held_out_score(self, weights, bias, X, codes):
        index = InvertedIndex(*self._finished(weights.save(), bias))
        found = index.topk(as_rows(X), 1, self._threads())[0].ravel()
        return f1_score(codes, found, average="macro", zero_division=0)
