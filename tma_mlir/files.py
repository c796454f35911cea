"""Programs as they are read from files, and files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from pathlib import Path

from .diagnostics import Diagnostic, Place

BYTECODE_MAGIC = b"ML\xefR"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x00\x00\xfe\xff": "UTF-32"}
_OUTSIDE_COMMENTS = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*')


class NotText(ValueError):
    """What was read is not UTF-8; ``diagnostic`` says where."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(str(diagnostic))


def decoded(data: bytes, name: str) -> str | bytes:
    """The program in ``data``: text, or bytecode as it is. ``name`` is for messages; raises ``NotText``.

    A byte order mark is dropped. In comments any byte may stand, as for MLIR; one that is not UTF-8 becomes ``?``, so
    that columns stay what they are.
    """
    if data.startswith(BYTECODE_MAGIC):
        return data
    for mark, encoding in _OTHER_ENCODINGS.items():
        if data.startswith(mark):
            message = f"this is {encoding}; MLIR reads UTF-8. Save the file as UTF-8"
            raise NotText(Diagnostic("error", Place(name, 1, 1), message))
    data = data.removeprefix(_BYTE_ORDER_MARK)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    text = data.decode("utf-8", "surrogateescape")
    rest = _OUTSIDE_COMMENTS.sub(lambda found: found[1] or " " * len(found[0]), text)
    for at, letter in enumerate(rest):
        if "\udc80" <= letter <= "\udcff":
            before = text[text.rfind("\n", 0, at) + 1 : at].encode("utf-8", "surrogateescape")
            place = Place(name, text.count("\n", 0, at) + 1, len(before) + 1)
            message = f"byte 0x{ord(letter) - 0xDC00:02x} is not UTF-8. Save the file as UTF-8"
            raise NotText(Diagnostic("error", place, message))
    return re.sub("[\udc80-\udcff]", "?", text)


def write_whole(path: str | os.PathLike[str], data: bytes | memoryview) -> None:
    """Writes ``data`` to the file ``path``: written beside it and renamed, so that nobody ever sees a part of it, and
    the old file stays where writing fails. A link is followed and permissions are kept. What is not a regular file
    (``/dev/stdout``, a pipe) is written to directly. Raises ``OSError``.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb", buffering=0) as file:
            _write_all(file.fileno(), data)
        return
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied", str(path))
    handle, beside = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".partial", dir=target.parent)
    try:
        try:
            _write_all(handle, data)
            os.fchmod(handle, stat.S_IMODE(mode) if mode is not None else 0o666 & ~_umask())
        finally:
            os.close(handle)
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _write_all(handle: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _umask() -> int:
    """The process's; reading it means setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
