"""The application: which address gives what, and the headers of all of them."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..utils._optional_import import optional_import
from ._answers import Answers
from ._requests import LIMITS, RefusedError, body_of, many, one, one_of_address

if TYPE_CHECKING:  # Starlette may not be installed
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]] | Callable[[Request], Response]

MODEL = "SKLEARN_XC_MODEL"  # environment variables by which workers learn the file
HOSTS = "SKLEARN_XC_HOSTS"  # and the names that a request may call this server by
PAGE = Path(__file__).parent / "page"
KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


def make_app(
    path: str | os.PathLike | None = None, hosts: Sequence[str] | None = None
) -> "ASGIApp":
    """Make the application of a saved model.

    Parameters
    ----------
    path : str or path-like, default=None
        A file of :func:`sklearn_xc.save` with a pipeline that takes texts; by default that of the
        environment variable ``SKLEARN_XC_MODEL``.
    hosts : sequence of str, default=None
        Names by which a request may call the server: without a list, a page of another site can
        make its own name mean this machine, and read answers. By default those of the environment
        variable ``SKLEARN_XC_HOSTS``, separated by commas; all names where there are none.

    Returns
    -------
    app : callable
        An ASGI application.

    Raises
    ------
    ImportError
        If Starlette is not installed.
    ValueError
        If the file is no model, or one that does not take texts.
    """
    applications = optional_import("starlette.applications", "sklearn_xc.serve")
    from starlette.concurrency import run_in_threadpool
    from starlette.routing import Route

    answers = Answers(os.fspath(os.environ[MODEL] if path is None else path))
    if hosts is None:
        hosts = [name for name in os.environ.get(HOSTS, "").split(",") if name]
    n_labels = len(answers.classes)

    async def health(request: "Request") -> dict:
        return {"status": "ok", "labels": n_labels}

    async def about(request: "Request") -> dict:
        return answers.about()

    # Models compute in threads, so that a slow question does not stop the answers to others; the
    # limit of time is for a body that is sent a byte at a time.
    async def topk(request: "Request") -> dict:
        body = await asyncio.wait_for(body_of(request), LIMITS["seconds"])
        return await run_in_threadpool(answers.topk, many(body, n_labels))

    async def answer(request: "Request") -> dict:
        if request.method == "GET":
            question = one_of_address(request.url.query, n_labels)
        else:
            body = await asyncio.wait_for(body_of(request), LIMITS["seconds"])
            question = one(body, n_labels)
        return await run_in_threadpool(answers.answer, question)

    async def labels(request: "Request") -> list[str]:
        start = request.query_params.get("start", "")
        return await run_in_threadpool(answers.suggestions, start)

    routes = [Route("/health", _replying(health)), Route("/model", _replying(about))]
    routes += [Route("/topk", _replying(topk), methods=["POST"])]
    routes += [Route("/answer", _replying(answer), methods=["GET", "POST"])]
    routes += [Route("/labels", _replying(labels)), Route("/", _file("index.html"))]
    routes += [Route(f"/{name}", _file(name)) for name in ("page.css", "page.js")]
    return _Guard(applications.Starlette(routes=routes), hosts)


def _replying(reply: Callable[["Request"], Awaitable]) -> "Endpoint":
    """Return an endpoint that turns what is wrong into an answer with a sentence."""
    from starlette.requests import ClientDisconnect
    from starlette.responses import JSONResponse, Response

    async def endpoint(request: "Request") -> "Response":
        try:
            return JSONResponse(await reply(request))
        except RefusedError as error:
            return JSONResponse({"error": str(error)}, status_code=error.status)
        except TimeoutError:
            message = f"the body did not come within {LIMITS['seconds']} seconds"
            close = {"connection": "close"}
            return JSONResponse({"error": message}, status_code=408, headers=close)
        except ClientDisconnect:  # nobody is there to answer
            return Response(status_code=400)

    return endpoint


def _file(name: str) -> "Endpoint":
    """Return an endpoint that answers with a file of the page."""
    from starlette.responses import Response

    # Read once: a request names no file, so that none outside the folder can be asked for.
    content, kind = (PAGE / name).read_bytes(), KINDS[name.rpartition(".")[2]]
    return lambda request: Response(content, media_type=kind)


class _Guard:
    """Application around another: refuses other hosts, and adds the headers of all answers."""

    def __init__(self, app: "ASGIApp", hosts: Sequence[str]):
        self._app, self._hosts = app, {name.lower() for name in hosts}

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

        async def with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *more]}
            await send(message)

        # A page of another site can let its own name mean this machine and then read answers; its
        # requests have that name in the header.
        named = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if self._hosts and any(_name(host) not in self._hosts for host in named):
            start = {"type": "http.response.start", "status": 421}
            await with_headers({**start, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"this server has another name\n"})
            return
        await self._app(scope, receive, with_headers)


def _name(host: str) -> str:
    """Return the name in the header Host, without the port."""
    start, _, port = host.rpartition(":")
    return (start if port.isdecimal() and start else host).lower()
