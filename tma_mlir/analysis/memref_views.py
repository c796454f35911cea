"""Operations whose result is a view of their first operand."""

from __future__ import annotations

SAME_OFFSET = frozenset(("memref.cast", "memref.expand_shape", "memref.collapse_shape"))
"""Views that start where their operand starts."""
TYPED_VIEWS = SAME_OFFSET | {"memref.subview", "memref.reinterpret_cast"}
"""Views with the element type of their operand."""
VIEWS = TYPED_VIEWS | {"memref.view"}
