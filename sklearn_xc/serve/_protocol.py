"""HTTP connections that close when no request comes over them."""

import asyncio

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from ._requests import LIMITS


class PromptProtocol(AutoHTTPProtocol):  # type: ignore[valid-type]
    """A connection of uvicorn that waits for the head of a request no longer than for a body.

    uvicorn waits without an end, and each connection counts to the limit of a worker: a client that
    opens as many and sends nothing would keep all others out.
    """

    _wait: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._expect_head()
        else:
            self._cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        # From the first byte on: what drips in gains no time.
        if self._wait is None:
            self._wait = self.loop.call_later(LIMITS["seconds"], self.transport.close)

    def _cancel(self) -> None:
        if self._wait is not None:
            self._wait.cancel()
            self._wait = None
