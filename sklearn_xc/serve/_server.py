"""The server: one socket that all worker processes accept from."""

import inspect
import os
import socket
from collections.abc import Sequence

from ..utils._optional_import import optional_import
from ..utils._progress_line import say
from ._answers import Answers
from ._app import HOSTS, MODEL
from ._requests import LIMITS

LOOPBACK = "localhost", "127.0.0.1", "[::1]"


def serve(
    path: str | os.PathLike,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    hosts: Sequence[str] = (),
) -> None:
    """Serve a saved model over HTTP, until it is interrupted, and print the address to stderr.

    Parameters
    ----------
    path : str or path-like
        A file of :func:`sklearn_xc.save` with a pipeline that takes texts.
    host : str, default="127.0.0.1"
        The address to listen at: by default this machine only. ``"0.0.0.0"`` is all networks, which
        wants a proxy in front: this server knows no users and no TLS.
    port : int, default=8000
        0 is any that is free.
    workers : int, default=1
        Processes; all map the same file.
    hosts : sequence of str, default=()
        Names by which requests may call the server. At the loopback addresses ``localhost`` and
        these are always among them, and other names are refused.

    Raises
    ------
    ImportError
        If Starlette or uvicorn is not installed.
    OSError
        If the port is in use.
    ValueError
        If the file is no model, or one that does not take texts.
    """
    uvicorn = optional_import("uvicorn", "sklearn_xc.serve")
    optional_import("starlette", "sklearn_xc.serve")
    from ._protocol import PromptProtocol

    Answers(os.fspath(path))  # what is wrong with the file is told here, not by each worker
    if host in ("localhost", "127.0.0.1", "::1"):
        hosts = *LOOPBACK, *hosts
    # Workers are processes that import the application by name, and learn the rest from here.
    os.environ[MODEL], os.environ[HOSTS] = os.path.abspath(path), ",".join(hosts)
    # A worker answers once it has imported this package, and is ended where that takes longer: by
    # default five seconds, which a busy machine needs again and again.
    known = inspect.signature(uvicorn.run).parameters  # uvicorn >= 0.37
    patient = {name: 300 for name in ("timeout_worker_healthcheck",) if name in known}
    with listening(host, port) as one:
        # Told only now, since a file that is no model and a port in use end the command before.
        say(f"http://{f'[{host}]' if ':' in host else host}:{one.getsockname()[1]}/ (Ctrl-C ends)")
        uvicorn.run(
            "sklearn_xc.serve:make_app",
            factory=True,
            fd=one.fileno(),
            workers=workers,
            http=PromptProtocol,
            log_level="warning",
            access_log=False,
            limit_concurrency=LIMITS["connections"],
            server_header=False,
            **patient,
        )


def listening(host: str, port: int) -> socket.socket:
    """Return the socket that all workers accept from.

    A response is two packets, and with Nagle's algorithm the second waits for a client that puts
    off its acknowledgement by 40 ms; sockets that uvicorn opens for several workers have it on.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    one = socket.create_server((host, port), family=family)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return one
