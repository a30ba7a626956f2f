"""The steps of scikit-learn that a model file may hold, with their parameters and attributes.

`STEPS` is an allow-list: of each class the parameters, with a rule for their values, and the names
of what a fit leaves. `save` and `load` apply the same rules. No rule admits a file or folder, a
codec of Python's registry at large, a number of processes, or code.
"""

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    LabelBinarizer,
    MaxAbsScaler,
    MinMaxScaler,
    MultiLabelBinarizer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from ..feature_extraction._stems import StemmedAnalyzer
from ..utils._records import is_labels, is_number, is_text, is_truth
from ._step_values import (
    is_function,
    is_number_type,
    is_plain,
    is_score,
    is_vocabulary,
    require_encoder,
)

# A text of n letters has at most this many times n n-grams; with a range up to 10**9 a page of text
# would have billions.
LONGEST_NGRAM = 50
# Not any codec that Python knows: to look one up imports the module of its name, some (idna,
# punycode) take quadratic time, and a program may have registered others.
ENCODINGS = "utf-8", "utf-16", "ascii", "latin-1", "iso-8859-1", "iso-8859-15", "cp1252"


class Rule(NamedTuple):
    """Rule for the value of a parameter: a test, and `words` for the error of one that fails it."""

    test: Callable[[Any], Any]
    words: str


def _only(*values: Any) -> Rule:
    """Return the rule of a parameter that may have one of a few values."""
    words = " or ".join(map(repr, values))
    return Rule(lambda value: any(value is one or _same(value, one) for one in values), words)


def _same(value: object, one: object) -> bool:
    """Return whether two values are of one type and equal."""
    # The type first: True equals 1, and `==` of an array is an array.
    return type(value) is type(one) and value == one


def _is_part(value: object) -> bool:
    """Return whether a value can be a step of a composition, of whatever kind."""
    # In a file, whatever is an estimator has been made by the decoder, by rules of its own; `save`
    # goes into it later.
    return isinstance(value, BaseEstimator) or value is None or is_text(value)


def _are_parts(value: object, length: int) -> bool:
    """Return whether a value lists parts of a composition: (name, step), perhaps columns."""
    return isinstance(value, (list, tuple)) and all(
        isinstance(item, (list, tuple))
        and len(item) == length
        and is_text(item[0])
        and _is_part(item[1])
        and all(_is_column_choice(part) for part in item[2:])
        for item in value
    )


def _is_column_choice(value: object) -> bool:
    """Return whether a value chooses columns; a function, which may do so too, is code."""
    return isinstance(value, slice) or (is_plain(value) and not isinstance(value, dict))


def _is_ngram_range(value: object) -> bool:
    """Return whether a value is a range of lengths of n-grams."""
    return (
        isinstance(value, (list, tuple, np.ndarray))
        and len(value) == 2
        and all(isinstance(n, Integral) and 1 <= n <= LONGEST_NGRAM for n in value)
    )


def _is_words(value: object) -> bool:
    """Return whether a value is a text, several, or None."""
    if value is None or is_text(value):
        return True
    return isinstance(value, (list, tuple, set, frozenset)) and all(map(is_text, value))


def _is_given_vocabulary(value: object) -> bool:
    """Return whether a value can be a vocabulary that a user gives: words, perhaps with numbers."""
    if isinstance(value, dict):
        return all(map(is_text, value)) and all(isinstance(n, Integral) for n in value.values())
    return not is_text(value) and _is_words(value)


def _are_weights(value: object) -> bool:
    """Return whether a value has a number for each name, or is None."""
    return value is None or (
        isinstance(value, dict) and all(map(is_text, value)) and all(map(is_number, value.values()))
    )


def _is_own_output(value: object) -> bool:
    """Return whether it is what ``set_output`` leaves."""
    return isinstance(value, dict) and all(map(is_text, [*value, *value.values()]))


PLAIN = Rule(is_plain, "a number, a text, None, or an array, a list or a dict of these")
NOTHING, TRUTH = _only(None), Rule(is_truth, "True or False")
NUMBER_TYPE = Rule(is_number_type, "a type of numbers, or None")
FUNCTION = Rule(lambda value: value is None or is_function(value), "a ufunc of NumPy, or None")
STEPS_IN_A_ROW = Rule(partial(_are_parts, length=2), "a list of (name, step)")
COLUMNS = Rule(partial(_are_parts, length=3), "a list of (name, step, columns without functions)")
PART = Rule(_is_part, "an estimator or a text")
WEIGHTS = Rule(_are_weights, "a number for each name, or None")
ANALYZERS = _only("word", "char", "char_wb")
OF_TEXTS = {
    # With "filename" a vectorizer opens the files that the texts of a request name.
    "input": _only("content"),
    "encoding": _only(*ENCODINGS),
    "decode_error": _only("strict", "ignore", "replace"),
    "strip_accents": _only(None, "ascii", "unicode"),
    "lowercase": TRUTH,
    # Functions, which are code.
    "preprocessor": NOTHING,
    "tokenizer": NOTHING,
    "stop_words": Rule(_is_words, "a text, a list of texts, or None"),
    # A pattern can take exponential time on some texts: a loaded model is as slow as its author
    # likes, but it computes nothing else than words.
    "token_pattern": Rule(lambda value: value is None or is_text(value), "a text or None"),
    "ngram_range": Rule(_is_ngram_range, f"two whole numbers from 1 to {LONGEST_NGRAM}"),
    "analyzer": Rule(
        lambda value: type(value) is StemmedAnalyzer or ANALYZERS.test(value),
        f"{ANALYZERS.words} or a StemmedAnalyzer",
    ),
    "binary": TRUTH,
    "dtype": NUMBER_TYPE,
}
COUNTED = {
    "vocabulary": Rule(_is_given_vocabulary, "a list of texts, a dict from texts to numbers, None"),
    **dict.fromkeys(("max_df", "min_df", "max_features"), PLAIN),
}
WEIGHTED = dict.fromkeys(("norm", "use_idf", "smooth_idf", "sublinear_tf"), PLAIN)
ENCODED = {
    "dtype": NUMBER_TYPE,
    **dict.fromkeys(("categories", "handle_unknown", "max_categories", "min_frequency"), PLAIN),
}
# What a machine decides, and not a file: not written, and what a class has by default when loaded.
# `memory` names a folder of pickles, which joblib would read and run; `n_jobs` a number of
# processes.
DROPPED = {"memory", "n_jobs"}
# Attributes that an estimator makes again when it needs them.
MADE_ANEW = {"_stop_words_id", "_cached_dict"}


class Step(NamedTuple):
    """Row of the table: the content that a file may have for one class, each name with its rule."""

    cls: type
    parameters: dict[str, Rule]
    attributes: dict[str, Rule]

    def rule(self, name: str) -> Rule | None:
        """Return the rule of a parameter or an attribute; None if there is none."""
        return self.parameters.get(name) or self.attributes.get(name)


COMMON = {
    "n_features_in_": PLAIN,
    "feature_names_in_": Rule(is_labels, "an array of names"),
    "_sklearn_output_config": Rule(_is_own_output, "the names of containers"),
}


def _step(cls: type, parameters: str = "", attributes: str = "", /, **rules: Rule) -> Step:
    """Return a row of the table: names of plain parameters and attributes, and rules for others."""
    of_parameters = dict.fromkeys(parameters.split(), PLAIN)
    of_attributes = COMMON | dict.fromkeys(attributes.split(), PLAIN)
    # scikit-learn's names tell: what a fit leaves ends with an underscore, or begins with one.
    for name, rule in rules.items():
        fitted = name.startswith("_") or name.endswith("_")
        (of_attributes if fitted else of_parameters)[name] = rule
    return Step(cls, of_parameters, of_attributes)


def _a(cls: type) -> Rule:
    """Return the rule of an attribute that is an estimator of one class."""
    return Rule(lambda value: value is None or type(value) is cls, f"a {cls.__name__}")


WORDS = Rule(is_vocabulary, "a dict that numbers its words from 0 on")
SCALED = "n_samples_seen_ scale_"
CATEGORIES = "categories_ _infrequent_enabled _infrequent_indices _default_to_infrequent_mappings"
_ROWS = (
    _step(Pipeline, "transform_input", steps=STEPS_IN_A_ROW, verbose=TRUTH),
    _step(
        FeatureUnion,
        transformer_list=STEPS_IN_A_ROW,
        transformer_weights=WEIGHTS,
        verbose=TRUTH,
        verbose_feature_names_out=TRUTH,
    ),
    _step(
        ColumnTransformer,
        "sparse_threshold force_int_remainder_cols",
        "_columns _transformer_to_input_indices sparse_output_ output_indices_ "
        "_n_features _name_to_fitted_passthrough",
        transformers=COLUMNS,
        remainder=PART,
        transformer_weights=WEIGHTS,
        verbose=TRUTH,
        verbose_feature_names_out=Rule(
            lambda value: is_truth(value) or is_text(value), "True, False or a text"
        ),
        transformers_=COLUMNS,
        _remainder=Rule(lambda value: _are_parts([value], 3), "(name, step, columns)"),
    ),
    _step(FrozenEstimator, estimator=PART),
    _step(CountVectorizer, "", "fixed_vocabulary_", vocabulary_=WORDS, **OF_TEXTS, **COUNTED),
    _step(
        TfidfVectorizer,
        "",
        "fixed_vocabulary_",
        vocabulary_=WORDS,
        _tfidf=_a(TfidfTransformer),
        **OF_TEXTS,
        **COUNTED,
        **WEIGHTED,
    ),
    _step(HashingVectorizer, "n_features norm alternate_sign", **OF_TEXTS),
    _step(TfidfTransformer, "", "idf_", **WEIGHTED),
    _step(
        DictVectorizer,
        "separator sparse sort",
        "feature_names_",
        dtype=NUMBER_TYPE,
        vocabulary_=WORDS,
    ),
    _step(FeatureHasher, "n_features input_type alternate_sign", dtype=NUMBER_TYPE),
    _step(Normalizer, "copy norm"),
    _step(StandardScaler, "copy with_mean with_std", f"{SCALED} mean_ var_"),
    _step(MaxAbsScaler, "copy clip", f"{SCALED} max_abs_"),
    _step(
        MinMaxScaler, "copy clip feature_range", f"{SCALED} min_ data_min_ data_max_ data_range_"
    ),
    _step(
        RobustScaler,
        "copy quantile_range unit_variance with_centering with_scaling",
        "center_ scale_",
    ),
    _step(Binarizer, "copy threshold"),
    _step(
        FunctionTransformer,
        "accept_sparse check_inverse validate",
        # Any other function would have to be named by its module, and importing is running.
        func=FUNCTION,
        inverse_func=FUNCTION,
        kw_args=_only(None, {}),
        inv_kw_args=_only(None, {}),
        feature_names_out=_only(None, "one-to-one"),
    ),
    _step(
        TruncatedSVD,
        "algorithm n_components n_iter n_oversamples power_iteration_normalizer random_state tol",
        "components_ explained_variance_ explained_variance_ratio_ singular_values_",
    ),
    _step(
        PCA,
        "copy iterated_power n_components n_oversamples power_iteration_normalizer random_state "
        "svd_solver tol whiten",
        "_fit_svd_solver mean_ noise_variance_ n_samples_ n_components_ components_ "
        "explained_variance_ explained_variance_ratio_ singular_values_",
    ),
    _step(
        SelectKBest,
        "k",
        "scores_ pvalues_",
        score_func=Rule(is_score, "a score function of scikit-learn"),
    ),
    _step(VarianceThreshold, "threshold", "variances_"),
    _step(MultiLabelBinarizer, "classes sparse_output", "classes_"),
    _step(LabelBinarizer, "neg_label pos_label sparse_output", "classes_ y_type_ sparse_input_"),
    _step(
        OneHotEncoder,
        "drop sparse_output",
        f"{CATEGORIES} _drop_idx_after_grouping drop_idx_ _n_features_outs",
        feature_name_combiner=_only("concat"),
        **ENCODED,
    ),
    _step(
        OrdinalEncoder,
        "encoded_missing_value unknown_value",
        f"{CATEGORIES} _missing_indices",
        **ENCODED,
    ),
    _step(
        SimpleImputer,
        "add_indicator copy fill_value keep_empty_features missing_values strategy",
        "_fit_dtype _fill_dtype statistics_",
        indicator_=_a(MissingIndicator),
    ),
    _step(
        MissingIndicator,
        "error_on_new features missing_values sparse",
        "_precomputed _n_features features_",
    ),
    _step(
        KBinsDiscretizer,
        "encode n_bins quantile_method random_state strategy subsample",
        "bin_edges_ n_bins_",
        dtype=NUMBER_TYPE,
        _encoder=_a(OneHotEncoder),
    ),
)
STEPS = {step.cls.__name__: step for step in _ROWS}


def is_step(value: object) -> bool:
    """Return whether a value is an estimator of scikit-learn that a model file may hold."""
    step = STEPS.get(type(value).__name__)
    # The very class: a subclass has methods that no file holds.
    return step is not None and type(value) is step.cls


def made_step(
    name: str, parameters: dict[str, Any], attributes: dict[str, Any], version: object
) -> BaseEstimator:
    """Make an estimator of scikit-learn of the decoded parameters and attributes of a file.

    Raises ValueError if there is no such step, or a value fails its rule. Warns, as a pickle does,
    if another `version` of scikit-learn has fitted it.
    """
    step = STEPS.get(name)
    if step is None or not is_text(version):
        raise ValueError(f"{name!r} is no step of scikit-learn that a model file may hold")
    for kind, values, rules in (
        ("parameter", parameters, step.parameters),
        ("attribute", attributes, step.attributes),
    ):
        # By name: an attribute that no rule is for, such as one named "transform", would take the
        # place of a method.
        for key, value in values.items():
            if key not in rules:
                raise ValueError(f"{key!r} is no {kind} of a {name} in a model file")
            if not rules[key].test(value):
                raise ValueError(
                    f"{kind} {key!r} of a {name} is {value!r:.60}, and has to be {rules[key].words}"
                )
    unknown = parameters.keys() - set(step.cls._get_param_names())
    if unknown:
        raise ValueError(f"this version of scikit-learn has no {sorted(unknown)} in a {name}")
    estimator = step.cls(**parameters)
    # scikit-learn checks parameters in `fit`, which is not called; `transform` of some steps relies
    # on it, and hands them to compiled code.
    if hasattr(estimator, "_parameter_constraints"):
        estimator._validate_params()
    # As a pickle is read, with the warning of another version; values are plain by now.
    estimator.__setstate__({**vars(estimator), **attributes, "_sklearn_version": version})
    if isinstance(estimator, OneHotEncoder):
        require_encoder(estimator)
    return estimator
