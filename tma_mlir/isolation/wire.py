"""Messages between a host and its worker: JSON and bytes, never pickles, each with its length in front."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from ..diagnostics import Diagnostic, Place

_LENGTHS = struct.Struct("<II")
Read = Callable[[int], bytes]
"""Reads exactly that many bytes, or raises ``EOFError``."""


def packed(header: dict[str, Any], content: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return _LENGTHS.pack(len(text), len(content)) + text + content


def receive(read: Read) -> tuple[dict[str, Any], bytes]:
    """The next message."""
    header, content = _LENGTHS.unpack(read(_LENGTHS.size))
    return json.loads(read(header)), read(content)


def diagnostic_data(diagnostic: Diagnostic) -> dict[str, Any]:
    return asdict(diagnostic)


def read_diagnostic(data: dict[str, Any]) -> Diagnostic:
    place = data["place"] and Place(**data["place"])
    return Diagnostic(data["severity"], place, data["message"], tuple(map(read_diagnostic, data["notes"])))
