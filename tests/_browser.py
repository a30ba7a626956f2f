"""A headless Chromium that looks at a folder of pages and reports what a probe has measured."""

import functools
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading

BROWSER = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "chrome"])), None)
NO_BROWSER = "there is no Chromium; the Debian package chromium has it"
SECONDS = 300


class Handler(http.server.SimpleHTTPRequestHandler):
    """The folder, the probe, and a list of requests that failed."""

    def __init__(self, *arguments, probe, failed, done, **options):
        self.probe, self.failed, self.done = probe, failed, done
        super().__init__(*arguments, **options)

    def do_GET(self):
        if self.path != "/probe":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.probe.encode())

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()
        self.done.append(json.loads(text))
        self.server.reported.set()

    def send_error(self, code, message=None, explain=None):
        if self.path != "/favicon.ico":  # which a browser asks for beside the one of the page
            self.failed.append((code, self.path))
        super().send_error(code, message, explain)

    def log_message(self, *arguments):
        pass


def look(folder, probe):
    """Open a probe beside the pages of a folder.

    Parameters
    ----------
    folder : Path
        Served at the address of the probe.
    probe : str
        A page that ends with ``fetch("/report", {method: "POST", body: JSON.stringify(found)})``.

    Returns
    -------
    found : object
        As the probe reports.
    failed : list of tuple (int, str)
        Status and path of requests that failed.
    """
    failed, done = [], []
    handler = functools.partial(
        Handler, probe=probe, failed=failed, done=done, directory=str(folder)
    )
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
    ):
        server.reported = threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [BROWSER, "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        command += ["--no-sandbox"] if os.geteuid() == 0 else []
        command += [f"--user-data-dir={profile}", "--disable-dev-shm-usage"]
        command += ["--remote-debugging-port=0", "--disable-background-networking"]
        command += ["--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"]
        address = f"http://127.0.0.1:{server.server_address[1]}/probe"
        with subprocess.Popen(
            [*command, address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as browser:
            reported = server.reported.wait(timeout=SECONDS)
            browser.terminate()
        server.shutdown()
    assert reported, f"the browser did not report in {SECONDS} s"
    return done[0], failed
