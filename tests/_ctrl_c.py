"""Ctrl-C in the middle of a call, and never where it would end pytest itself."""

import _thread
import os
import signal
import threading
import time
from contextlib import contextmanager

import sklearn_xc

PACKAGE = os.path.dirname(sklearn_xc.__file__)


@contextmanager
def ctrl_c(after):
    """Context that Ctrl-C comes to after some seconds, and again until a function of ours hears it.

    The list that it gives holds the processor seconds until KeyboardInterrupt was raised.
    """
    sent, heard, ended = [], [], threading.Event()

    def send():
        ended.wait(after)
        while not ended.is_set():
            sent.append(time.process_time())
            _thread.interrupt_main()
            ended.wait(0.01)

    def interrupt(_, frame):
        # On a busy machine it comes before the call, in a finalizer or in a hook of pytest.
        if ended.is_set() or not frame.f_code.co_filename.startswith(PACKAGE):
            sent.clear()
            return
        heard.append(time.process_time() - sent[0])
        ended.set()
        raise KeyboardInterrupt

    # programs that were started in the background of a shell ignore the signal
    before, sender = signal.signal(signal.SIGINT, interrupt), threading.Thread(target=send)
    sender.start()
    try:
        yield heard
    finally:
        ended.set()
        sender.join()
        signal.signal(signal.SIGINT, before)
