"""What a barrier is called in the program: the SSA name where the source can be read, else where it was created."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

_PLACE = re.compile(r"(.*):(\d+):(\d+)")
_RESULT = re.compile(r"(%[\w$.-]+)\s*=\s*$")


@lru_cache(maxsize=8)
def _lines(path: str) -> tuple[str, ...]:
    """Of a regular file: a pipe has been read by now, and reading it again waits for ever."""
    try:
        file = Path(path)
        return tuple(file.read_text("utf-8").splitlines()) if file.is_file() else ()
    except (OSError, ValueError):
        return ()


def source_name(location: str) -> str | None:
    """``%empty`` for the location of ``%empty = nvgpu.mbarrier.create``; None where no result or no file is there."""
    match = _PLACE.fullmatch(location)
    if match is None:
        return None
    lines = _lines(match[1])
    line = int(match[2]) - 1
    if line >= len(lines):
        return None
    name = _RESULT.search(lines[line][: int(match[3]) - 1])
    return name[1] if name and "get_global" not in lines[line] else None


def short(location: str) -> str:
    """``file.mlir:20:16`` of a location with a path."""
    return location.rpartition("/")[2]
