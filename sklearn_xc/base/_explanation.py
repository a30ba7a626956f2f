"""Explanations of scores: what they hold, how they print."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from ..utils._optional_import import optional_import

INTERCEPT = "(intercept)"
REST = "(rest)"
MOST_SHOWN = 10  # explanations in the text of a list of them
LONGEST_NAME = 40  # characters of a feature's name in that text


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Explanation of the score of one label on one sample.

    The score is the sum of its parts: ``contributions.sum() + rest + intercept``.

    Parameters
    ----------
    row : int
        Number of the sample in X.
    label : object
        Entry of ``classes_``.
    score : float
        The label's decision function; for ``classes_[0]`` of two classes, minus that.
    intercept : float
        The part that does not depend on the sample.
    feature_names : ndarray of str, shape (n_listed,)
        The features that contribute most, by falling magnitude of the contribution.
    features : ndarray of int64, shape (n_listed,)
        Their columns.
    values : ndarray of float32, shape (n_listed,)
        x_j, their values in the sample.
    weights : ndarray of float32, shape (n_listed,)
        w_kj, their weights for the label.
    contributions : ndarray of float64, shape (n_listed,)
        The products w_kj * x_j. None is zero.
    rest : float
        Sum of the contributions of the features that are not listed.
    n_rest : int
        How many these are.

    Attributes
    ----------
    rest_label : str
        What to call the features that are not listed.

    See Also
    --------
    sklearn_xc.explain : Makes them.

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifier
    >>> model = PPDSparseClassifier(l1=0.01).fit([[3, 0], [0, 2], [0, 3]], ["tea", "jam", "jam"])
    >>> (explanation,) = model.explain([[1, 0]], "tea", feature_names=["hot", "sweet"])
    >>> explanation.feature_names.tolist(), explanation.values.tolist(), explanation.n_rest
    (['hot'], [1.0], 0)
    """

    row: int
    label: object
    score: float
    intercept: float
    feature_names: np.ndarray
    features: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    contributions: np.ndarray
    rest: float
    n_rest: int

    def __repr__(self) -> str:
        # Columns of one width each: intercept and rest are formatted with the contributions.
        names = [shortened(name, LONGEST_NAME) for name in self.feature_names]
        width = max([len(name) for name in names] + [len(INTERCEPT)])
        numbers = _aligned([*self.contributions, self.rest, self.intercept])
        lines = [f"row {self.row}, label {self.label!r}: score {self.score:+.4g}"]
        for name, part, value, weight in zip(
            names, numbers[:-2], self.values, self.weights, strict=True
        ):
            lines.append(f"  {part}  {name:{width}}  {value:.4g} * {weight:.4g}")
        if self.n_rest:
            lines.append(f"  {numbers[-2]}  {self.rest_label}")
        lines.append(f"  {numbers[-1]}  {INTERCEPT}")
        return "\n".join(lines)

    @property
    def rest_label(self) -> str:
        """The features that are not listed, as a text."""
        return f"({self.n_rest} more feature{'s' if self.n_rest > 1 else ''})"

    def to_frame(self) -> Any:
        """Return the parts of the score as a table.

        Returns
        -------
        frame : pandas.DataFrame
            Columns row, label, feature, value, weight and contribution: a line for each feature
            listed, one for the features that are not, where there are any, and one for the
            intercept. The contributions add up to the score.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return Explanations([self]).to_frame()


class Explanations(Sequence[Explanation]):
    """A list of :class:`Explanation`, sample by sample, the labels of each by falling score.

    Parameters
    ----------
    items : iterable of Explanation

    Attributes
    ----------
    items : tuple of Explanation

    See Also
    --------
    sklearn_xc.explain : Makes them.

    Examples
    --------
    >>> from sklearn_xc import PPDSparseClassifier
    >>> model = PPDSparseClassifier(l1=0.01).fit([[3, 0], [0, 2], [0, 3]], ["tea", "jam", "jam"])
    >>> explanations = model.explain([[1, 0], [0, 1], [1, 1]], ["jam", "tea"])
    >>> len(explanations), [item.label for item in explanations.of_row(1)]
    (6, ['jam', 'tea'])
    """

    def __init__(self, items: Iterable[Explanation]) -> None:
        self.items = tuple(items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> Explanation: ...

    @overload
    def __getitem__(self, place: slice) -> "Explanations": ...

    def __getitem__(self, place: int | slice) -> "Explanation | Explanations":
        return Explanations(self.items[place]) if isinstance(place, slice) else self.items[place]

    def __repr__(self) -> str:
        shown = [repr(item) for item in self.items[:MOST_SHOWN]]
        if len(self) > MOST_SHOWN:
            shown.append(f"... and {len(self) - MOST_SHOWN} more explanations")
        return "\n".join(shown) or "no explanations"

    def of_row(self, row: int) -> "Explanations":
        """Return the explanations of one sample.

        Parameters
        ----------
        row : int
            Number of the sample in X.

        Returns
        -------
        explanations : Explanations
            Empty if the sample has none.
        """
        return Explanations(item for item in self.items if item.row == row)

    def to_frame(self) -> Any:
        """Return the parts of all scores as one table.

        Returns
        -------
        frame : pandas.DataFrame
            As :meth:`Explanation.to_frame`, one explanation below the other.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        pandas = optional_import("pandas", "to_frame")
        # Lines of each explanation: its features, the others if there are any, the intercept.
        sizes = [len(item.features) + bool(item.n_rest) + 1 for item in self.items]
        columns = {
            "row": np.repeat(np.array([item.row for item in self.items], dtype=np.int64), sizes),
            "label": [
                item.label for item, n in zip(self.items, sizes, strict=True) for _ in range(n)
            ],
            "feature": [],
            "value": [],
            "weight": [],
            "contribution": [],
        }
        for item in self.items:
            rest = [(REST, np.nan, np.nan, item.rest)] if item.n_rest else []
            lines = [*rest, (INTERCEPT, 1.0, item.intercept, item.intercept)]
            names, ones, weights, parts = zip(*lines, strict=True)
            columns["feature"] += [*item.feature_names, *names]
            columns["value"] += [*item.values.tolist(), *ones]
            columns["weight"] += [*item.weights.tolist(), *weights]
            columns["contribution"] += [*item.contributions.tolist(), *parts]
        return pandas.DataFrame(columns)


def _aligned(numbers: Sequence[float]) -> list[str]:
    """Format numbers as texts of one length, with the sign."""
    # One form for all, by the largest: contributions are compared with one another.
    largest = max(map(abs, numbers))
    form = "+.4f" if 1e-3 <= largest < 1e6 or largest == 0 else "+.3e"
    texts = [format(number, form) for number in numbers]
    width = max(map(len, texts))
    return [text.rjust(width) for text in texts]


def shortened(name: object, longest: int, ending: str = "...") -> str:
    """Return a name for people to read, cut in the middle to at most this many characters."""
    # In the middle: paths of categories begin alike, and tell each other apart by their ends.
    name = str(name)
    if len(name) <= longest:
        return name
    kept = longest - len(ending)
    end = kept // 2
    return f"{name[: kept - end]}{ending}{name[len(name) - end :]}"
