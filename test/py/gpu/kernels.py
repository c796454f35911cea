"""Kernels for GPU tests, in PTX: nothing but the assembler and the runtime stands between a test and the hardware."""

from __future__ import annotations

import functools

from tma_mlir.abi.signature import KernelSignature, MemRefArgument, ScalarArgument, TensorMapArgument
from tma_mlir.assembler import Cubin, assemble
from tma_mlir.dtypes import dtype
from tma_mlir.plan.tensor_map import TensorMap
from tma_mlir.runtime import Kernel

BYTES = MemRefArgument(dtype("ui8"), (None,), (1,))
NUMBER = ScalarArgument(dtype("i32"))
SHARED_BYTES = 64 * 1024
THREADS = 128

HEADER = ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 tile[];\n"
"""Dynamic shared memory starts right after the static variables, and nvJitLink 13.0 aligns it to 16 bytes whatever is
asked: static variables fill whole KiB."""


def load_ptx(rank: int) -> str:
    """``load(map, tensor, out, transaction bytes, coordinates...)``: one load into shared memory filled with 0xCD, and
    all of that memory to ``out``. The unused tensor pointer keeps the signature that of a compiled kernel."""
    coordinates = ", ".join(f"%c{i}" for i in range(rank))
    return f"""{HEADER}
.visible .entry load(.param .align 128 .b8 map[128], .param .u64 tensor, .param .u64 out, .param .u32 bytes
{"".join(f", .param .s32 p{i}" for i in range(rank))})
{{
    .reg .pred %p; .reg .b32 %t, %i, %n, %v, %s, %b; .reg .b64 %o, %a, %m, %x;
    .reg .b32 %c<5>;
    .shared .align 1024 .b8 barrier[1024];
{"".join(f"    ld.param.s32 %c{i}, [p{i}];" for i in range(rank))}
    mov.u32 %t, %tid.x; mov.u32 %s, tile; mov.u32 %b, barrier; mov.b64 %m, map;
    mov.u32 %i, %t;
FILL:
    shl.b32 %n, %i, 2; add.u32 %n, %n, %s; mov.b32 %v, 0xCDCDCDCD; st.shared.b32 [%n], %v;
    add.u32 %i, %i, {THREADS}; setp.lt.u32 %p, %i, {SHARED_BYTES // 4}; @%p bra FILL;
    setp.ne.u32 %p, %t, 0; @%p bra READY;
    mbarrier.init.shared.b64 [%b], 1; fence.mbarrier_init.release.cluster;
READY:
    fence.proxy.async; bar.sync 0;
    @%p bra WAIT;
    ld.param.u32 %n, [bytes]; mbarrier.arrive.expect_tx.shared.b64 %x, [%b], %n;
    cvta.param.u64 %m, %m;
    cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
        [%s], [%m, {{{coordinates}}}], [%b];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p, [%b], 0; @!%p bra WAIT;
    ld.param.u64 %o, [out]; cvta.to.global.u64 %o, %o; mov.u32 %i, %t;
DRAIN:
    shl.b32 %n, %i, 2; cvt.u64.u32 %a, %n; add.u64 %a, %a, %o; add.u32 %n, %n, %s;
    ld.shared.b32 %v, [%n]; st.global.b32 [%a], %v;
    add.u32 %i, %i, {THREADS}; setp.lt.u32 %p, %i, {SHARED_BYTES // 4}; @%p bra DRAIN;
    ret;
}}
"""


def store_ptx(rank: int) -> str:
    """``store(map, tensor, in, coordinates...)``: shared memory filled from ``in``, then one store."""
    coordinates = ", ".join(f"%c{i}" for i in range(rank))
    return f"""{HEADER}
.visible .entry store(.param .align 128 .b8 map[128], .param .u64 tensor, .param .u64 in
{"".join(f", .param .s32 p{i}" for i in range(rank))})
{{
    .reg .pred %p; .reg .b32 %t, %i, %n, %v, %s; .reg .b64 %o, %a, %m;
    .reg .b32 %c<5>;
{"".join(f"    ld.param.s32 %c{i}, [p{i}];" for i in range(rank))}
    mov.u32 %t, %tid.x; mov.u32 %s, tile; mov.b64 %m, map;
    ld.param.u64 %o, [in]; cvta.to.global.u64 %o, %o; mov.u32 %i, %t;
FILL:
    shl.b32 %n, %i, 2; cvt.u64.u32 %a, %n; add.u64 %a, %a, %o; add.u32 %n, %n, %s;
    ld.global.b32 %v, [%a]; st.shared.b32 [%n], %v;
    add.u32 %i, %i, {THREADS}; setp.lt.u32 %p, %i, {SHARED_BYTES // 4}; @%p bra FILL;
    fence.proxy.async; bar.sync 0;
    setp.ne.u32 %p, %t, 0; @%p bra DONE;
    cvta.param.u64 %m, %m;
    cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [%m, {{{coordinates}}}], [%s];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
DONE:
    ret;
}}
"""


@functools.cache
def tile_cubin(direction: str, rank: int) -> Cubin:
    return assemble(load_ptx(rank) if direction == "load" else store_ptx(rank), "sm_90a")


def make_tile_kernel(direction: str, tensor_map: TensorMap) -> Kernel:
    """A kernel that copies one box of ``tensor_map``; ``direction`` is "load" or "store".

    Arguments: the tensor's bytes, 64 KiB of shared-memory bytes (written by a load, read by a store), for a load the
    transaction bytes, and the start coordinates.
    """
    numbers = tensor_map.rank + (direction == "load")
    signature = KernelSignature(
        name=direction,
        tensor_maps=(TensorMapArgument(0, tensor_map),),
        arguments=(BYTES, BYTES, *[NUMBER] * numbers),
        grid=(1, 1, 1),
        block=(THREADS, 1, 1),
        dynamic_shared_bytes=SHARED_BYTES,
    )
    return Kernel(tile_cubin(direction, tensor_map.rank), signature)


SCALE_PTX = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 factor, .param .s32 count, .param .s32 rounds)
{
    .reg .pred %p; .reg .b32 %t, %b, %n, %r; .reg .f32 %f, %g; .reg .b64 %x, %y, %o;
    mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.s32 %t, %b, %n, %t;
    ld.param.s32 %n, [count]; setp.ge.s32 %p, %t, %n; @%p bra DONE;
    ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; cvta.to.global.u64 %x, %x; cvta.to.global.u64 %y, %y;
    mul.wide.s32 %o, %t, 4; add.u64 %x, %x, %o; add.u64 %y, %y, %o;
    ld.param.f32 %f, [factor]; ld.param.s32 %r, [rounds];
AGAIN:
    ld.volatile.global.f32 %g, [%x]; mul.f32 %g, %g, %f; st.volatile.global.f32 [%y], %g;
    sub.s32 %r, %r, 1; setp.gt.s32 %p, %r, 0; @%p bra AGAIN;
DONE:
    ret;
}
"""


@functools.cache
def scale_cubin() -> Cubin:
    return assemble(SCALE_PTX, "sm_90a")


def make_scale_kernel() -> Kernel:
    """``y = factor * x`` on f32 vectors, ``rounds`` times (for kernels that take long); arguments x, y, factor, count,
    rounds; block 128."""
    vector = MemRefArgument(dtype("f32"), (None,), (1,))
    arguments = (vector, vector, ScalarArgument(dtype("f32")), NUMBER, NUMBER)
    return Kernel(scale_cubin(), KernelSignature("scale", (), arguments, block=(128, 1, 1)))
