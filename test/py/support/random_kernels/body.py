"""The text of a kernel: barriers, loops and waits around loads and drains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .drains import Drain
from .frame import Frame
from .starts import Point
from .streams import Load
from .text import SHARED, Operand, Writer

TICKS = 10_000_000


@dataclass
class Body:
    """Writes one kernel of ``loads`` (may be empty) and ``drains``."""

    frame: Frame
    loads: list[Load]
    drains: list[Drain]

    def __post_init__(self) -> None:
        self.w = Writer()

    def write(self) -> list[str]:
        """The lines of the body."""
        w, frame = self.w, self.frame
        self._identify()
        if any(drain.tile.home == "dynamic" for drain in self.drains):
            w.line(f"%ring = gpu.dynamic_shared_memory : memref<?xi8, {SHARED}>")
        self.first = w.compare("eq", self.thread, 0)
        if self.loads:
            self._make_barriers()
        for load in self.loads:
            if load.prefetched:
                with w.when(self.first):
                    load.prefetch(w, self._point(0, 0))
        {"plain": self._plain, "multistage": self._multistage, "ring": self._ring}[frame.schedule]()
        if frame.cluster > 1 and frame.cluster_barriers:
            self._cluster_barrier()
        return [*w.constants(), *w.lines]

    # Who and where.

    def _identify(self) -> None:
        w, frame = self.w, self.frame
        self.thread = w.let("gpu.thread_id x")
        if frame.block[1] > 1:
            row = w.let("gpu.thread_id y")
            self.thread = str(w.add(w.multiply(row, frame.block[0]), self.thread))
        self.x: Operand = w.let("gpu.block_id x") if frame.grid[0] > 1 else 0
        self.y: Operand = w.let("gpu.block_id y") if frame.grid[1] > 1 else 0
        self.cluster = w.divide(self.x, frame.cluster)
        if frame.cluster > 1:
            rank = w.let("nvvm.read.ptx.sreg.cluster.ctarank : i32")
            self.rank = w.let(f"arith.index_castui {rank} : i32 to index")
        self.steps: Operand = "%steps" if frame.steps_argument else frame.steps
        if frame.fewer:
            odd = w.remainder(self.x, 2)
            self.steps = w.let(f"arith.subi {w.value(self.steps)}, {w.value(odd)} : index")

    def _point(self, step: Operand, stage: Operand) -> Point:
        return Point(self.x, self.y, self.cluster, step, stage)

    def _row(self, step: Operand) -> Operand:
        w, frame = self.w, self.frame
        cta = w.add(w.multiply(self.y, frame.grid[0]), self.x)
        return w.add(w.multiply(cta, max(frame.steps, 1)), step)

    # Barriers.

    def _make_barriers(self) -> None:
        w, frame = self.w, self.frame
        self.full = w.let("nvgpu.mbarrier.create -> !barrier")
        arrivals = len(self.loads) if frame.announce == "each" else 1
        self.remote = frame.schedule == "ring" and frame.multicast is not None
        local_ring = frame.schedule == "ring" and not self.remote
        if local_ring:
            self.empty = w.let("nvgpu.mbarrier.create -> !barrier")
        if self.remote:
            type_ = f"memref<{frame.stages}xi64, {SHARED}>"
            empties = w.let(f"memref.get_global @empty : {type_}")
            self.empties = w.let(f"memref.extract_aligned_pointer_as_index {empties} : {type_} -> index")
        with w.when(self.first), w.loop(0, frame.stages, 1) as stage:
            w.line(f"nvgpu.mbarrier.init {self.full}[{stage}], {w.value(arrivals)} : !barrier")
            if local_ring:
                count = {"all": frame.consumers, "warps": frame.consumers // 32, "leader": 1}[frame.release]
                w.line(f"nvgpu.mbarrier.init {self.empty}[{stage}], {w.value(count)} : !barrier")
            if self.remote:
                pointer = self._empty_pointer(stage)
                w.line(f"nvvm.mbarrier.init {pointer}, {self._remote_arrivals()} : !llvm.ptr<3>, i32")
        with w.when(self.first):
            w.line("nvvm.fence.mbarrier.init")
        if frame.cluster > 1 and frame.cluster_barriers:
            self._cluster_barrier()
        else:
            w.line("gpu.barrier")

    def _remote_arrivals(self) -> str:
        """How many arrivals free a stage of this CTA."""
        w, multicast = self.w, self.frame.multicast
        assert multicast is not None
        count = w.value(1, "i32")
        for rank in range(self.frame.cluster):
            if multicast.arrivals(rank) > 1:
                here = w.compare("eq", self.rank, rank)
                count = w.let(f"arith.select {here}, {w.value(multicast.arrivals(rank), 'i32')}, {count} : i32")
        return count

    def _cluster_barrier(self) -> None:
        w = self.w
        # Both are aligned instructions: lanes that branched come together first.
        w.line(f"nvvm.bar.warp.sync {w.value(-1, 'i32')} : i32")
        w.line("nvvm.cluster.arrive")
        w.line("nvvm.cluster.wait")

    def _empty_pointer(self, stage: Operand) -> str:
        w = self.w
        address = w.value(w.add(self.empties, w.multiply(stage, 8)))
        number = w.let(f"arith.index_cast {address} : index to i64")
        return w.let(f"llvm.inttoptr {number} : i64 to !llvm.ptr<3>")

    def _wait(self, barrier: str, stage: Operand, parity: str) -> None:
        w = self.w
        stage = w.value(stage)
        if self.frame.wait == "tile.wait":
            w.line(f'"tile.wait"({barrier}, {stage}, {parity}) : (!barrier, index, i1) -> ()')
        else:
            w.line(f"nvgpu.mbarrier.try_wait.parity {barrier}[{stage}], {parity}, {w.value(TICKS)} : !barrier")

    # Loads.

    def _produce(self, at: Point, leader: str | None) -> None:
        """Announces and issues the loads of one step. ``leader``: the one of the arriving threads that announces, or
        None if only it arrives."""
        w, frame = self.w, self.frame
        by_hand = frame.announce in ("before", "after")
        extra = [] if by_hand else ["expect_tx"]
        extra += [f'scope = "{frame.scope}"'] if frame.scope != "thread" else []

        def announce() -> None:
            with w.when(leader):
                w.line(
                    f"nvgpu.mbarrier.arrive.expect_tx {self.full}[{w.value(at.stage)}], {self._bytes(at)} : !barrier"
                )

        if frame.announce == "before":
            announce()
        for load in self.loads:
            if load.multicast:
                self._multicast(load, at, extra)
            else:
                load.issue(w, at, (self.full, at.stage), extra, None)
        if frame.announce == "after":
            announce()

    def _bytes(self, at: Point) -> str:
        w = self.w
        total: Operand = 0
        for load in self.loads:
            part: Operand = load.bytes
            if load.predicate is not None:
                part = w.let(f"arith.select {load.predicate.text(w, at)}, {w.value(part)}, {w.value(0)} : index")
            total = w.add(total, part)
        return w.value(total)

    def _multicast(self, load: Load, at: Point, extra: list[str]) -> None:
        w, multicast = self.w, self.frame.multicast
        assert multicast is not None
        split = [f"cluster_split = {multicast.split} : i64"] if multicast.split else []
        for mask in sorted({mask for mask in multicast.masks if mask}):
            issuers = [r for r, each in enumerate(multicast.masks) if each == mask]
            with w.when(None if multicast.by_all else self._is_one_of(issuers)):
                name = "%mask" if multicast.argument else w.value(mask, "i16")
                load.issue(w, at, (self.full, at.stage), [*extra, *split], name)
        alone = [rank for rank in range(self.frame.cluster) if not multicast.receives(rank)]
        if alone:
            with w.when(self._is_one_of(alone)):
                load.issue(w, at, (self.full, at.stage), extra, None)

    def _is_one_of(self, ranks: list[int]) -> str | None:
        """Whether this CTA's rank is one of ``ranks``; None if it always is."""
        w = self.w
        if len(ranks) == self.frame.cluster:
            return None
        found = w.compare("eq", self.rank, ranks[0])
        for rank in ranks[1:]:
            found = w.let(f"arith.ori {found}, {w.compare('eq', self.rank, rank)} : i1")
        return found

    # Drains.

    def _consume(self, at: Point, leader: str, barrier: str) -> None:
        """``leader`` is the first of the consumers; ``barrier`` is what waits for all of them."""
        w, frame = self.w, self.frame
        (predicate,) = {load.predicate for load in self.loads} or {None}
        with w.when(predicate.text(w, at) if predicate else None):
            row = self._row(at.step)
            for drain in self.drains:
                drain.by_threads(w, at, row, self.thread, frame.consumers)
            stored = [drain for drain in self.drains if drain.target is not None]
            if not stored:
                return
            if any(drain.touches for drain in stored):
                if "explicit fence" in frame.features:
                    w.line("nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}")
                w.line(barrier)
            who = self._who(stored[0].scope, leader)
            with w.when(who):
                for drain in stored:
                    drain.store(w, at)
                w.line('"tile.commit_group"() : () -> ()')
                pending = 1 if frame.store_lag else 0
                w.line(f'"tile.wait_group"() {{pending = {pending} : i64, read}} : () -> ()')

    def _who(self, scope: str, leader: str) -> str | None:
        if scope == "warp":
            return self.w.compare("ult", self.thread, 32)
        return leader if scope == "thread" else None

    def _finish_stores(self) -> None:
        w = self.w
        stored = [drain for drain in self.drains if drain.target is not None]
        if stored and ("final wait" in self.frame.features or self.frame.store_lag):
            with w.when(self._who(stored[0].scope, self.first)):
                w.line('"tile.wait_group"() {pending = 0 : i64} : () -> ()')

    # Schedules.

    def _parity(self, use: Operand, of: int) -> str:
        """Whether ``use`` (the number of the use of a stage) modulo 2 is ``of``."""
        return self.w.compare("eq", self.w.remainder(use, 2), of)

    def _plain(self) -> None:
        w, frame = self.w, self.frame
        with w.loop(0, self.steps, 1) as step:
            at = self._point(step, 0)
            if self.loads:
                with w.when(self._who(frame.scope, self.first)):
                    self._produce(at, None if frame.scope == "thread" else self.first)
                self._wait(self.full, 0, self._parity(step, 1))
            self._consume(at, self.first, "gpu.barrier")
            self._end_step()
        self._finish_stores()

    def _end_step(self) -> None:
        if self.frame.multicast is not None:
            self._cluster_barrier()
        else:
            self.w.line("gpu.barrier")

    def _multistage(self) -> None:
        w, frame = self.w, self.frame
        ahead = frame.stages - 1

        def produce(step: Operand, stage: Operand) -> None:
            with (
                w.when(w.compare("slt", step, self.steps)),
                w.when(self._who(frame.scope, self.first)),
            ):
                self._produce(self._point(step, stage), None if frame.scope == "thread" else self.first)

        for step in range(ahead):
            produce(step, step)
        with self._ring_loop() as (step, stage, use):
            later = w.add(step, ahead)
            produce(later, w.remainder(later, frame.stages))
            self._wait(self.full, stage, self._use_parity(use, 1))
            self._consume(self._point(step, stage), self.first, "gpu.barrier")
            self._end_step()
        self._finish_stores()

    def _ring(self) -> None:
        w, frame = self.w, self.frame
        producer = frame.consumers
        with w.when(self._who_produces(producer)), self._ring_loop() as (step, stage, use):
            parity = self._use_parity(use, 0)
            if self.remote:
                number = w.let(f"arith.extui {parity} : i1 to i32")
                pointer = self._empty_pointer(stage)
                w.line(
                    f"nvvm.mbarrier.try_wait.parity {pointer}, {number}, {w.value(TICKS, 'i32')}"
                    " : !llvm.ptr<3>, i32, i32"
                )
            else:
                self._wait(self.empty, stage, parity)
            leader = None if frame.scope == "thread" else w.compare("eq", self.thread, producer)
            self._produce(self._point(step, stage), leader)
            if leader is not None and any(load.predicate for load in self.loads):
                # A copy that is off does not bring the lanes together, and one ahead could end a phase others wait for.
                w.line(f"nvvm.bar.warp.sync {w.value(-1, 'i32')} : i32")
        with w.when(w.compare("ult", self.thread, producer)):
            barrier = f"nvvm.barrier id = {w.value(1, 'i32')} number_of_threads = {w.value(producer, 'i32')}"
            with self._ring_loop() as (step, stage, use):
                self._wait(self.full, stage, self._use_parity(use, 1))
                self._consume(self._point(step, stage), self.first, barrier)
                self._release(step, stage, barrier)
            self._finish_stores()

    def _who_produces(self, producer: int) -> str:
        predicate = "eq" if self.frame.scope == "thread" else "uge"
        return self.w.compare(predicate, self.thread, producer)

    def _release(self, step: Operand, stage: Operand, barrier: str) -> None:
        """Says that the consumers have done with ``stage``; with a lag of stores, with the stage before."""
        w, frame = self.w, self.frame
        if frame.release == "all":
            w.let(f"nvgpu.mbarrier.arrive {self.empty}[{stage}] : !barrier -> !token")
            return
        if frame.release == "warps":
            w.line(f"nvvm.bar.warp.sync {w.value(-1, 'i32')} : i32")
            with w.when(w.compare("eq", w.remainder(self.thread, 32), 0)):
                w.let(f"nvgpu.mbarrier.arrive {self.empty}[{stage}] : !barrier -> !token")
            return
        w.line(barrier)
        with w.when(self.first):
            if not frame.store_lag:
                self._arrive(stage)
                return
            with w.when(w.compare("ugt", step, 0)):
                before = w.let(f"arith.subi {step}, {w.value(1)} : index")
                self._arrive(w.remainder(before, frame.stages))

    def _arrive(self, stage: Operand) -> None:
        w, multicast = self.w, self.frame.multicast
        if not self.remote:
            w.let(f"nvgpu.mbarrier.arrive {self.empty}[{w.value(stage)}] : !barrier -> !token")
            return
        assert multicast is not None
        pointer = self._empty_pointer(stage)
        for owner in range(self.frame.cluster):
            arriving = [r for r in range(self.frame.cluster) if r == owner or multicast.masks[owner] >> r & 1]
            with w.when(self._is_one_of(arriving)):
                far = w.let(f"nvvm.mapa {pointer}, {w.value(owner, 'i32')} : !llvm.ptr<3> -> !llvm.ptr<7>")
                w.line(f"nvvm.mbarrier.arrive {far} {{scope = #nvvm.mem_scope<cluster>}} : !llvm.ptr<7>")

    @contextmanager
    def _ring_loop(self) -> Iterator[tuple[str, Operand, Operand]]:
        """Steps with the stage of each and the number of its use, or, with carried counters, the parity as an i1."""
        w, frame = self.w, self.frame
        if frame.counters == "remainder":
            with w.loop(0, self.steps, 1) as step:
                yield step, w.remainder(step, frame.stages), w.divide(step, frame.stages)
            return
        number = w.number()
        step, stage, bit = f"%step{number}", f"%stage{number}", f"%bit{number}"
        zero, one, no = w.value(0), w.value(1), w.value(0, "i1")
        header = (
            f"%r{number}:2 = scf.for {step} = {zero} to {w.value(self.steps)} step {one} "
            f"iter_args({stage} = {zero}, {bit} = {no}) -> (index, i1)"
        )
        with w.block(header):
            yield step, stage, bit
            following = w.let(f"arith.addi {stage}, {one} : index")
            wraps = w.compare("eq", following, frame.stages)
            next_stage = w.let(f"arith.select {wraps}, {zero}, {following} : index")
            next_bit = w.let(f"arith.xori {bit}, {wraps} : i1")
            w.line(f"scf.yield {next_stage}, {next_bit} : index, i1")

    def _use_parity(self, use: Operand, of: int) -> str:
        w = self.w
        if self.frame.counters == "remainder":
            return self._parity(use, of)
        return str(use) if of else w.let(f"arith.xori {use}, {w.value(1, 'i1')} : i1")
