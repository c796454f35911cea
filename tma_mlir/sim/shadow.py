"""What the checks remember of one CTA's shared memory, per 16-byte chunk (the unit of every TMA access).

For each chunk: every warp's last generic read and write (as clock epochs with source locations), the asynchronous
write that fills it and the asynchronous read that empties it (as clock components to know). A rule broken raises
with both ends' locations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import hazards
from .errors import SimulationError
from .machine import CODE_SHIFT
from .transfer import AsyncGroups, Transfer

if TYPE_CHECKING:
    from .machine import Cta, Warp
    from .mbarrier import MBarrier
    from .memory import Site

CHUNK_SHIFT = 4
PENDING = 1 << 62
"""A read whose end is not known yet (wgmma before its wait_group)."""
LOCATION_MASK = (1 << CODE_SHIFT) - 1

Chunks = slice | np.ndarray


class SharedShadow:
    """Attached to the CTA's shared ``Region``; rows of the tables are warps of the cluster."""

    def __init__(self, cta: Cta, locations: list[str]):
        size = cta.shared.data.size
        chunks = -(-size // 16)
        warps = cta.cluster.warp_count
        self.cta = cta
        self.locations = locations
        self.read = np.zeros((warps, chunks), np.int64)
        self.written = np.zeros((warps, chunks), np.int64)
        self.readable = np.zeros((warps, chunks), bool)
        self.writable = np.zeros((warps, chunks), bool)
        self.fill_component = np.zeros(chunks, np.int64)
        self.fill_value = np.zeros(chunks, np.int64)
        self.fill_transfer = np.zeros(chunks, np.int32)
        self.drain_component = np.zeros(chunks, np.int64)
        self.drain_value = np.zeros(chunks, np.int64)
        self.drain_transfer = np.zeros(chunks, np.int32)
        self.initialised = np.zeros(chunks * 16, np.uint8)
        self.filled_chunks: dict[int, Chunks] = {}
        self.early_reads: dict[int, hazards.EarlyRead] = {}
        self.transfers: list[tuple[Transfer | None, MBarrier | AsyncGroups | None]] = [(None, None)]

    # Generic proxy -------------------------------------------------------------------------------------------------

    def generic_read(self, w: Warp, offset: np.ndarray, site: Site) -> None:
        """Warp ``w`` loads ``site.size`` bytes at each offset."""
        for piece in range(0, site.size, 16):
            chunk = (offset + piece) >> CHUNK_SHIFT if piece else offset >> CHUNK_SHIFT
            if not self.readable[w.index].take(chunk).all():
                self._check_read(w, chunk, offset + piece, min(16, site.size - piece), site.location)
            self.read[w.index][chunk] = w.code_base | site.location_id

    def generic_write(self, w: Warp, offset: np.ndarray, site: Site) -> None:
        """Warp ``w`` stores ``site.size`` bytes at each offset."""
        for piece in range(0, site.size, 16):
            at = offset + piece if piece else offset
            chunk = at >> CHUNK_SHIFT
            if not self.writable[w.index].take(chunk).all():
                self._check_no_barrier(chunk, at, min(16, site.size - piece), site.location, "write")
                self._check_write(w, chunk, site.location)
            self.written[w.index][chunk] = w.code_base | site.location_id
            size = min(16, site.size - piece)
            if size in (1, 2, 4, 8):
                self.initialised.view(f"u{size}")[at >> (size.bit_length() - 1)] = (1 << 8 * size) - 1
            else:
                self.initialised[at[:, None] + np.arange(size)] = 255

    def _check_read(self, w: Warp, chunk: np.ndarray, offset: np.ndarray, size: int, location: str) -> None:
        self._check_filled(w, chunk, location, "read")
        if self._mark_filled(w, chunk):
            return
        self._check_no_barrier(chunk, offset, size, location, "read")
        window = self.initialised[offset[:, None] + np.arange(size)]
        if not window.all():
            bad = ~window.astype(bool).all(axis=1)
            # Reported at the end, or as soon as a copy that fills the place shows what the reader did not wait for.
            place = self.cta.shared_symbol(int(offset[int(bad.argmax())]))
            read = hazards.EarlyRead(w, place, location, dict(w.last_waits))
            for number in np.unique(chunk[bad]).tolist():
                self.early_reads.setdefault(number, read)
        whole = self.initialised.reshape(-1, 16)[chunk].all(axis=1)
        self.readable[w.index][chunk[whole]] = True

    def _mark_filled(self, w: Warp, chunk: np.ndarray) -> bool:
        """Where one copy filled all the chunks, everything it filled may be read from now on. Whether it is so."""
        number = int(self.fill_transfer[chunk[0]])
        if number == 0 or (self.fill_transfer[chunk] != number).any():
            return False
        filled = self.filled_chunks.get(number)
        if filled is None:
            return False
        self.readable[w.index][filled] |= self.fill_transfer[filled] == number
        return bool(self.readable[w.index][chunk].all())

    def _check_write(self, w: Warp, chunk: np.ndarray, location: str) -> None:
        self._check_filled(w, chunk, location, "write")
        self._check_drained(w, chunk, location, "write")
        self.writable[w.index][chunk] = True

    def _check_filled(self, w: Warp, chunk: Chunks, location: str, verb: str) -> None:
        """Every transfer that fills the chunks must be known complete to ``w``."""
        component = self.fill_component[chunk]
        seen = w.clock.seen
        if component.max(initial=0) >= seen.size:
            w.clock.grow(int(component.max()) + 64)
            seen = w.clock.seen
        late = seen[component] < self.fill_value[chunk]
        if not late.any():
            return
        position = int(late.argmax())
        where = self._absolute(chunk, position)
        transfer, source = self.transfers[self.fill_transfer[where]]
        assert transfer is not None
        place = self.cta.shared_symbol(where * 16)
        raise hazards.unfilled(w, transfer, source, int(self.fill_value[where]), place, location, verb)

    def _absolute(self, chunk: Chunks, position: int) -> int:
        return chunk.start + position if isinstance(chunk, slice) else int(chunk[position])

    def _check_drained(self, w: Warp, chunk: Chunks, location: str, verb: str) -> None:
        """Every asynchronous read of the chunks must be known complete to ``w``."""
        component = self.drain_component[chunk]
        if component.max(initial=0) >= w.clock.seen.size:
            w.clock.grow(int(component.max()) + 64)
        late = w.clock.seen[component] < self.drain_value[chunk]
        if not late.any():
            return
        position = self._absolute(chunk, int(late.argmax()))
        transfer, _ = self.transfers[self.drain_transfer[position]]
        assert transfer is not None
        raise hazards.undrained(w, transfer, self.cta.shared_symbol(position * 16), location, verb)

    def _check_no_barrier(self, chunk: np.ndarray, offset: np.ndarray, size: int, location: str, verb: str) -> None:
        if not self.cta.barriers:
            return
        for address, barrier in self.cta.barriers.items():
            hit = (offset < address + 8) & (offset + size > address)
            if hit.any():
                raise SimulationError(
                    "barrier overwritten" if verb == "write" else "barrier read",
                    f"plain {verb} of {barrier.name()}, an opaque object",
                    location,
                    (("initialised here", barrier.init_location),),
                )

    # Asynchronous proxy --------------------------------------------------------------------------------------------

    def remember(self, transfer: Transfer, source: MBarrier | AsyncGroups | None) -> int:
        self.transfers.append((transfer, source))
        return len(self.transfers) - 1

    def check_async(
        self, w: Warp, chunks: Chunks, location: str, what: str, writes: bool, barrier: MBarrier | None = None
    ) -> None:
        """``w`` issues an asynchronous access to the chunks: order with everything before it must be known.

        ``barrier``: where it will complete.
        """
        if writes and self.early_reads:
            numbers = range(chunks.start, chunks.stop) if isinstance(chunks, slice) else chunks.tolist()
            for number in numbers:
                if number in self.early_reads:
                    raise hazards.read_before_issue(self.early_reads[number], w, what, location, barrier)
        self._check_filled(w, chunks, location, "overwrite" if writes else "read")
        written = self.written[:, chunks]
        if written.any():
            self._check_generic_writes(w, written, chunks, location, what)
        if writes:
            self._check_drained(w, chunks, location, "overwrite")
            reads = self.read[:, chunks]
            if reads.any():
                self._check_generic_reads(w, reads, chunks, location, what, barrier)

    def _limits(self, known: np.ndarray) -> np.ndarray:
        warps = self.read.shape[0]
        return ((known[1 : 1 + warps] + 1) << CODE_SHIFT)[:, None]

    def _check_generic_writes(self, w: Warp, written: np.ndarray, chunks: Chunks, location: str, what: str) -> None:
        unfenced = written >= self._limits(w.clock.fenced)
        if not unfenced.any():
            return
        unseen = written >= self._limits(w.clock.seen)
        bad = unseen if unseen.any() else unfenced
        row, position = (int(x) for x in np.unravel_index(int(bad.argmax()), bad.shape))
        place = self.cta.shared_symbol(self._absolute(chunks, position) * 16)
        writer = self.cta.cluster.warps[row]
        notes = (("written here", self.locations[int(written[row, position]) & LOCATION_MASK]),)
        if unseen.any():
            raise SimulationError(
                "unsynchronised write",
                f"{what} by {w.describe()} uses shared memory at {place} that {writer.describe()} wrote without "
                "synchronising: fence.proxy.async by the writer, then a barrier, then the copy",
                location,
                notes,
            )
        raise SimulationError(
            "missing proxy fence",
            f"{what} by {w.describe()} uses shared memory at {place} that {writer.describe()} wrote through the "
            "generic proxy, with no fence.proxy.async in between: the copy may see stale bytes",
            location,
            notes,
        )

    def _check_generic_reads(
        self, w: Warp, reads: np.ndarray, chunks: Chunks, location: str, what: str, barrier: MBarrier | None
    ) -> None:
        bad = reads >= self._limits(w.clock.seen)
        if not bad.any():
            return
        row, position = (int(x) for x in np.unravel_index(int(bad.argmax()), bad.shape))
        place = self.cta.shared_symbol(self._absolute(chunks, position) * 16)
        code = int(reads[row, position])
        reader = self.cta.cluster.warps[row]
        read_at = self.locations[code & LOCATION_MASK]
        last = reader.last_waits.get(barrier.component) if barrier is not None else None
        if last is not None and not last.fresh and not code & PENDING:
            raise SimulationError(
                "wrong parity",
                f"{reader.describe()} reads shared memory at {place} too early, before this round's {what} is issued: "
                f"its wait for parity {last.parity} passed on an old phase; flip the parity each round",
                read_at,
                (last.note(), (f"the {what} is issued here", location)),
            )
        how = "still reads it with wgmma" if code & PENDING else "read it and has not released it"
        raise SimulationError(
            "stage reused too early",
            f"{what} by {w.describe()} overwrites shared memory at {place}, but {reader.describe()} {how}: the issuer "
            "must wait for every reader (an empty barrier) before it refills the stage",
            location,
            ((f"last read here by {reader.describe()}", read_at),),
        )

    def async_write(self, w: Warp, chunks: Chunks, component: int, value: int, transfer: Transfer, source) -> None:
        """The chunks are being filled; whoever knows ``component`` at ``value`` may touch them."""
        number = self.remember(transfer, source)
        self.filled_chunks[number] = chunks
        self.fill_component[chunks] = component
        self.fill_value[chunks] = value
        self.fill_transfer[chunks] = number
        self.readable[:, chunks] = False
        self.writable[:, chunks] = False
        self.initialised.reshape(-1, 16)[chunks] = 255
        for address, barrier in self.cta.barriers.items():
            chunk = address >> CHUNK_SHIFT
            inside = chunks.start <= chunk < chunks.stop if isinstance(chunks, slice) else bool((chunks == chunk).any())
            if inside:
                raise SimulationError(
                    "barrier overwritten",
                    f"{transfer.describe()} writes over {barrier.name()}: dynamic and static shared memory overlap?",
                    transfer.location,
                    (("initialised here", barrier.init_location),),
                )

    def async_read(self, w: Warp, chunks: Chunks, groups: AsyncGroups, transfer: Transfer) -> None:
        """The chunks are being read by a copy of the open bulk group."""
        number = self.remember(transfer, groups)
        self.drain_component[chunks] = groups.component
        self.drain_value[chunks] = groups.current
        self.drain_transfer[chunks] = number
        self.writable[:, chunks] = False

    def check_initialised(self, w: Warp, chunks: Chunks, location: str, what: str, later: bool = False) -> None:
        """Bytes an asynchronous read takes must have been written by something.

        ``later``: like a plain read, report it at the end, or when a copy fills the place.
        """
        rows = self.initialised.reshape(-1, 16)[chunks]
        if rows.all():
            return
        position = int((~rows.astype(bool).all(axis=1)).argmax())
        where = self._absolute(chunks, position)
        place = self.cta.shared_symbol(where * 16)
        if later:
            self.early_reads.setdefault(where, hazards.EarlyRead(w, place, location, dict(w.last_waits)))
            return
        raise SimulationError(
            "uninitialised read", f"{what} reads shared memory at {place} that nothing has written", location
        )

    def wgmma_read(self, warps: list[Warp], chunks: Chunks, location_id: int) -> None:
        """``warps`` read the chunks until their wgmma group is waited for."""
        for w in warps:
            self.read[w.index][chunks] = PENDING | location_id

    def wgmma_done(self, w: Warp, chunks: Chunks, location_id: int) -> None:
        row = self.read[w.index]
        pending = row[chunks] & PENDING != 0
        row[chunks] = np.where(pending, w.code_base | location_id, row[chunks])
