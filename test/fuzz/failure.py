"""What a fuzzer says of an input that went wrong."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Failure:
    """``kind``: the cause, equal for inputs that fail in the same way. ``detail``: what was seen."""

    kind: str
    detail: str


def of_exception(error: BaseException) -> Failure:
    """An exception that nobody documents; its kind is its class and the innermost line of the package."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/tma_mlir/" in frame.filename] or frames[-1:]
    place = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "nowhere"
    text = "".join(traceback.format_exception(error))
    return Failure(f"{type(error).__name__} at {place}", text[-4000:])
