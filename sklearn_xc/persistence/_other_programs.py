"""Models in the formats of other programs, and why some have none."""

from sklearn.base import BaseEstimator

from ._onnx import write_onnx
from ._pecos import write_pecos

WRITERS = {"onnx": write_onnx, "pecos": write_pecos}
REASONS = {
    "omikuji": "its models are trees whose nodes multiply probabilities",
    "fasttext": "its models are two dense layers over its own hashes of words",
}


def write_for(program: str, model: BaseEstimator, path: str) -> None:
    """Write a linear classifier for a program; ValueError for a program that cannot hold it."""
    if program not in WRITERS:
        reason = REASONS.get(program, "that is a format of samples")
        raise ValueError(f"a model cannot be written for {program}: {reason}")
    WRITERS[program](model, path)
