"""A Chromium that tests drive through pipes, by the DevTools protocol; needs no package."""

import json
import os
import select
import shutil
import subprocess
import time
from contextlib import contextmanager, suppress

PATH = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "chrome"])), None)
OPTIONS = [
    "--headless",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]
LONGEST = 300  # seconds until something happens


class RefusedError(Exception):
    """The browser does not do what it was called for."""


class Browser:
    """Context of a browser with one page.

    Parameters
    ----------
    folder : path
        For the profile of the browser.
    """

    def __init__(self, folder):
        self._folder, self._number, self.problems = folder, 0, []

    def __enter__(self):
        theirs, self._commands = os.pipe()
        self._replies, theirs_too = os.pipe()

        def become_3_and_4():
            ends = [os.dup(theirs), os.dup(theirs_too)]
            for place, end in enumerate(ends, 3):
                os.dup2(end, place)

        more = ["--no-sandbox"] if os.geteuid() == 0 else []
        self._process = subprocess.Popen(
            [PATH, *OPTIONS, *more, f"--user-data-dir={self._folder}", "about:blank"],
            preexec_fn=become_3_and_4,
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs), os.close(theirs_too)
        self._waiting, self._session = b"", None
        self._session = self._attach(self.target(lambda one: True))
        for domain in ("Page", "Runtime", "Log", "Accessibility"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(LONGEST)
        os.close(self._commands), os.close(self._replies)

    def call(self, method, **parameters):
        """Call a method of the protocol, and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.problems.append(reply["params"])
            if reply.get("id") == self._number:
                if "error" in reply:
                    raise RefusedError(reply)
                return reply["result"]

    def _next(self):
        while b"\0" not in self._waiting:
            ready, _, _ = select.select([self._replies], [], [], LONGEST)
            assert ready, "the browser does not answer"
            self._waiting += os.read(self._replies, 2**16)
        message, _, self._waiting = self._waiting.partition(b"\0")
        return json.loads(message)

    def target(self, fits):
        """Return the first page of which something is true, once there is one."""
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            for one in self.call("Target.getTargets")["targetInfos"]:
                if one["type"] == "page" and fits(one):
                    return one["targetId"]
            time.sleep(0.05)
        raise AssertionError("there is no such page")

    def _attach(self, target):
        return self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    @contextmanager
    def attached(self, target):
        """Context in which calls go to another page."""
        before, self._session = self._session, self._attach(target)
        yield
        self._session = before

    def open(self, address):
        """Open a page, and wait until it is there."""
        self.call("Page.navigate", url=address)
        there = f"location.href === {json.dumps(address)}"
        self.until(f"{there} && document.readyState === 'complete'")

    def value(self, expression):
        """Return the value of an expression of JavaScript."""
        options = {"returnByValue": True, "awaitPromise": True}
        found = self.call("Runtime.evaluate", expression=expression, **options)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, expression):
        """Wait until an expression is true."""
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            with suppress(RefusedError):  # on the way to another page there is none
                if self.value(f"Boolean({expression})"):
                    return
            time.sleep(0.02)
        raise AssertionError(f"never true: {expression}")

    def type(self, text):
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def press(self, key, code=0):
        """Press and release a key."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        same = {"key": key, "code": key, "windowsVirtualKeyCode": code, "text": text}
        self.call("Input.dispatchKeyEvent", type="keyDown", **same)
        self.call("Input.dispatchKeyEvent", type="keyUp", **{**same, "text": ""})

    def screen(self, width, height=900, dark=False):
        """Set the size of the screen, and whether it is dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path):
        """Write a picture of the page."""
        import base64

        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))
