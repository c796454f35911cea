"""Hashes of values that are keys again and again, and are deep."""

from __future__ import annotations

import dataclasses
from typing import Any


def hash_once(value: Any) -> int:
    """The hash of a frozen dataclass by its fields, kept in the instance after the first time."""
    known = value.__dict__.get("_hash")
    if known is None:
        compared = (getattr(value, field.name) for field in dataclasses.fields(value) if field.compare)
        known = value.__dict__["_hash"] = hash((type(value), *compared))
    return known
