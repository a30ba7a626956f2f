"""Texts of labels in a fitted model and its file."""

import numpy as np

from ..utils._records import is_array, record


@record(
    places=is_array(np.int64, least=0),
    starts=is_array(np.int64, least=0),
    letters=is_array(np.uint8),
)
class KeptTexts:
    """Texts of labels as plain arrays, which a file can map; never changes.

    Parameters
    ----------
    places : (n_texts,), the place of the label of each text
    starts : (n_texts + 1,), where the letters of each text begin
    letters : UTF-8
    """

    def __init__(self, places: np.ndarray, starts: np.ndarray, letters: np.ndarray) -> None:
        self.places, self.starts, self.letters = places, starts, letters

    def _check_record(self) -> None:
        starts = self.starts
        if len(starts) != len(self.places) + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
            raise ValueError("texts of labels that do not follow one another")
        if starts[-1] != len(self.letters):
            raise ValueError("texts of labels of another length than their letters")

    @classmethod
    def of(cls, texts: dict, labels: np.ndarray) -> "KeptTexts":
        """Return texts, label -> list of str, by the places of their labels."""
        place = {label: i for i, label in enumerate(labels.tolist())}
        pairs = [(place[label], text) for label, some in texts.items() for text in some]
        # A half of a pair of surrogates, which some exports hold, is no UTF-8, but still a text.
        encoded = [text.encode("utf-8", "surrogatepass") for _, text in pairs]
        starts = np.append(0, np.cumsum([len(text) for text in encoded], dtype=np.int64))
        letters = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        places = np.array([i for i, _ in pairs], dtype=np.int64)
        return cls(places, starts.astype(np.int64), letters)

    def by_label(self, labels: np.ndarray) -> dict:
        """Return label -> list of its texts."""
        found, names, letters = {}, labels.tolist(), self.letters.tobytes()
        for i, place in enumerate(self.places.tolist()):
            text = letters[self.starts[i] : self.starts[i + 1]].decode("utf-8", "surrogatepass")
            found.setdefault(names[place], []).append(text)
        return found


def joined(texts: dict, more: dict) -> dict:
    """Return label -> its texts of both, each of these once."""
    found = {label: list(some) for label, some in texts.items()}
    for label, some in more.items():
        kept = found.setdefault(label, [])
        kept += [text for text in dict.fromkeys(some) if text not in kept]
    return found
