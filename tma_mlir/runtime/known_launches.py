"""Launches done before with arguments of the same types, ready to be done again."""

from __future__ import annotations

import struct
import threading
from collections.abc import Sequence
from typing import Any

from .errors import DescriptorError
from .fast_keys import FastKeys
from .launch import Prepared
from .specialise import Specialisation

UNREADABLE = (TypeError, AttributeError, RuntimeError, struct.error)
"""What reading a key raises for arguments of other types, other counts, or lists as grid."""

PREPARED_LAUNCHES = 1024
"""Launches with settled addresses that are kept, oldest out first; about 1 KiB each."""

SPECIALISATIONS = 256
"""Combinations of shapes, strides and launch options that are kept, oldest out first."""


class KnownLaunches:
    """``prepared``: launches with settled addresses and numbers, by everything that a launch depends on. ``settled``:
    what they are made of for other addresses, by device and everything but addresses. Neither keeps an array alive.
    """

    def __init__(self, keys: FastKeys) -> None:
        self.key, self.current_stream = keys.key, keys.current_stream
        self.prepared: dict[tuple, Prepared] = {}
        self.settled: dict[tuple, Specialisation] = {}
        self._keys = keys
        self._lock = threading.Lock()

    def learn(self, extent: Any, block: Any, arguments: Sequence[Any], special: Specialisation) -> bool:
        """Remembers what was made for these arguments; False if they cannot be told apart (a list as grid)."""
        try:
            settled = (self._keys.places(*arguments), self._keys.static(self.key(extent, block, *arguments)))
            hash(settled)
        except UNREADABLE:
            return False
        with self._lock:
            make_room(self.settled, SPECIALISATIONS)
            self.settled[settled] = special
        return True

    def find(self, key: tuple | None, extent: Any, block: Any, arguments: Sequence[Any]) -> Prepared | None:
        """The launch for these arguments, with descriptors for their addresses. None if their shapes are new, or
        something is wrong, which looking at the arguments in full then says. ``key``: theirs if it was read already,
        and has no launch in ``prepared``."""
        try:
            if key is None:
                key = self.key(extent, block, *arguments)
                found = self.prepared.get(key)
                if found is not None:
                    return found
            special = self.settled.get((self._keys.places(*arguments), self._keys.static(key)))
            if special is None:
                return None
            values = list(arguments)
            for index, position in self._keys.addresses:
                values[index] = key[position]
            found = special.prepare(values)
        except (*UNREADABLE, DescriptorError):  # this thread may have no context yet, which the driver refuses
            return None
        if found is not None:
            with self._lock:
                make_room(self.prepared, PREPARED_LAUNCHES)
                self.prepared[key] = found
        return found


def make_room(entries: dict[Any, Any], capacity: int) -> None:
    """Drops the oldest entries until there is room for one more; the caller holds the lock."""
    while len(entries) >= capacity:
        entries.pop(next(iter(entries)))
