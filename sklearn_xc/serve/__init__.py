"""A service around a saved model: an HTTP API, and a page to try it.

``sklearn-xc serve model.sxc`` starts it. :func:`make_app` is the application, for any server that
speaks ASGI; :func:`serve` runs it with uvicorn, in one process or in several that share one mapped
file. Needs Starlette and uvicorn (``pip install starlette uvicorn``).
"""

from ._app import make_app
from ._server import serve

__all__ = ["make_app", "serve"]
