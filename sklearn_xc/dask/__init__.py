"""Predictions of Dask arrays, block by block; needs the extra ``dask``."""

from ._predict import predict_topk

__all__ = ["predict_topk"]
