"""Compiled kernels on disk, shared by any number of processes.

An entry is a file named by the hash of what it was made from, written beside and renamed into place: a reader sees
all of it or nothing, two writers write the same bytes, and a writer that is killed leaves only a temporary file, which
is swept later. That needs no lock, so none can be left behind. A hash of the content in each file tells damage (a full
disk, a crash of the machine) from an entry, and one entry from another.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

DEFAULT_LIMIT_BYTES = 256 << 20
_SUFFIX = ".entry"
_TEMPORARY = ".partial"
_STALE_SECONDS = 3600
"""Age from which a temporary file is taken to be abandoned: writing one takes milliseconds."""
_DIGEST_BYTES = 32


def digest(*parts: str | bytes) -> str:
    """The key of an entry: everything its content depends on (text, options, versions), order included."""
    hashed = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        hashed.update(len(data).to_bytes(8, "little") + data)
    return hashed.hexdigest()


def default_folder() -> Path:
    """``TMA_MLIR_CACHE_DIR``, or ``tma_mlir`` in the user's cache folder."""
    chosen = os.environ.get("TMA_MLIR_CACHE_DIR")
    if chosen:
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "tma_mlir"


class DiskCache:
    """``get`` and ``put`` never raise for a folder that cannot be used: a cache only saves time.

    ``limit_bytes`` bounds the folder; the entries used longest ago go first.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self.folder = default_folder() if folder is None else Path(folder)
        self.limit_bytes = limit_bytes

    def get(self, key: str) -> bytes | None:
        """The entry's content, or None. A damaged entry is removed."""
        path = self._path(key)
        try:
            # Not a pipe or a device in its place, which would be waited for.
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    return None
                data = file.read()
        except (OSError, ValueError):  # the latter for names that no system has
            return None
        content = data[_DIGEST_BYTES:]
        if _seal(key, content) != data[:_DIGEST_BYTES]:
            _remove(path)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return content

    def put(self, key: str, content: bytes) -> None:
        """Stores ``content`` and makes room."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(suffix=_TEMPORARY, dir=path.parent)
        except (OSError, ValueError):
            return
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_seal(key, content) + content)
            os.replace(temporary, path)
        except OSError:
            _remove(Path(temporary))
        self._make_room()

    def clear(self) -> None:
        """Removes all entries."""
        for path, _ in self._files():
            _remove(path)

    def size_bytes(self) -> int:
        return sum(status.st_size for _, status in self._files())

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / (key[2:] + _SUFFIX)

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        with contextlib.suppress(OSError, ValueError):  # the folder may be one that nobody may read
            for path in self.folder.glob("??/*"):
                if path.suffix in (_SUFFIX, _TEMPORARY):
                    with contextlib.suppress(OSError):  # another process may have removed it
                        yield path, path.stat()

    def _make_room(self) -> None:
        now, entries, total = time.time(), [], 0
        for path, status in self._files():
            if path.suffix == _TEMPORARY:
                if now - status.st_mtime > _STALE_SECONDS:
                    _remove(path)
                continue
            entries.append((status.st_mtime, status.st_size, path))
            total += status.st_size
        for _, size, path in sorted(entries):
            if total <= self.limit_bytes:
                break
            _remove(path)
            total -= size


def _seal(key: str, content: bytes) -> bytes:
    """The hash in front of an entry. It covers the key, so that an entry under another name is none."""
    return hashlib.sha256(len(key).to_bytes(8, "little") + key.encode() + content).digest()


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
