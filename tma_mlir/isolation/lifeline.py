"""The parent's death ends the child, also while the child is inside native code that never returns."""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def tie(handle: int) -> None:
    """Ends this process when nobody holds the other end of the pipe ``handle`` any more.

    The kernel sends SIGIO then, whose default action needs neither Python nor its lock. Where the system cannot, the
    child ends at its next look at its input.
    """
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        signal.signal(signal.SIGIO, signal.SIG_DFL)
        fcntl.fcntl(handle, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(handle, fcntl.F_GETFL)
        fcntl.fcntl(handle, fcntl.F_SETFL, flags | os.O_ASYNC | os.O_NONBLOCK)
        # It may have died before.
        try:
            gone = os.read(handle, 1) == b""
        except BlockingIOError:
            gone = False
        if gone:
            sys.stderr = None  # type: ignore[assignment]
            os._exit(1)
