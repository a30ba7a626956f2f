"""MEMOIR."""

from ._classifier import MemoirSVC

__all__ = ["MemoirSVC"]
