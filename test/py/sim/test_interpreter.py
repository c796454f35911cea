"""The interpreter's arithmetic, control flow and warp operations, against NumPy."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from support.sim_kernels import kernel, run, shared, signature
from tma_mlir.sim.errors import SimulationError

SEEDS = (0, 1, 2)


def elementwise(body: str, inputs: list[np.ndarray], output: np.ndarray, threads: int | None = None, seed: int = 0):
    """Run ``body`` with ``%i`` the thread and ``%a0`` ... its elements of the inputs; ``%result`` is stored."""
    names = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "int8": "i8", "int16": "i16",
             "int32": "i32", "int64": "i64", "bool": "i1"}  # fmt: skip
    arrays = [*inputs, output]
    kinds = [names[a.dtype.name] for a in arrays]
    arguments = ", ".join(
        f"%m{k}: memref<{'x'.join(map(str, a.shape))}x{kind}>"
        for k, (a, kind) in enumerate(zip(arrays, kinds, strict=True))
    )
    loads = "\n".join(
        f"      %a{k} = memref.load %m{k}[%i] : memref<{a.shape[0]}x{kinds[k]}>" for k, a in enumerate(inputs)
    )
    last = len(inputs)
    text = kernel(
        f"      %i = gpu.thread_id x\n{loads}\n{body}\n"
        f"      memref.store %result, %m{last}[%i] : memref<{output.shape[0]}x{kinds[last]}>",
        arguments,
        threads=threads or len(output),
    )
    run(text, signature([(k, a.shape) for k, a in zip(kinds, arrays, strict=True)], []), arrays, seed)
    return output


I32 = np.array([0, 1, -1, 7, -7, 2**31 - 1, -(2**31), 123456789] * 8, np.int32)
OTHER = np.roll(I32, 3) | 1


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("addi", lambda a, b: (a + b).astype(np.int32)),
        ("subi", lambda a, b: (a - b).astype(np.int32)),
        ("muli", lambda a, b: (a * b).astype(np.int32)),
        (
            "divsi",
            lambda a, b: np.array(
                [(abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a, b, strict=True)]
            ),
        ),
        ("remsi", lambda a, b: np.array([int(math.fmod(x, y)) for x, y in zip(a, b, strict=True)])),
        ("divui", lambda a, b: (a % 2**32) // (b % 2**32)),
        ("remui", lambda a, b: (a % 2**32) % (b % 2**32)),
        ("maxsi", np.maximum),
        ("minui", lambda a, b: np.minimum(a % 2**32, b % 2**32)),
        ("xori", lambda a, b: a ^ b),
    ],
)
@pytest.mark.parametrize("spread", [True, False])
def test_i32_arithmetic(operation, expected, spread):
    a, b = (I32, OTHER) if spread else (np.full(32, I32[5], np.int32), np.full(32, OTHER[6], np.int32))
    body = f"      %result = arith.{operation} %a0, %a1 : i32"
    if not spread:
        # The same in every lane, so that the simulator computes it once.
        body = f"      %x = arith.constant {a[0]} : i32\n      %y = arith.constant {b[0]} : i32\n" + body.replace(
            "%a0, %a1", "%x2, %y2"
        )
        body = body.replace(
            "      %result",
            "      %u = gpu.block_id x\n      %u32 = arith.index_cast %u : index to i32\n"
            "      %x2 = arith.addi %x, %u32 : i32\n      %y2 = arith.addi %y, %u32 : i32\n      %result",
        )
    out = elementwise(body, [a, b], np.zeros_like(a))
    wide = np.asarray(expected(a.astype(np.int64), b.astype(np.int64)), dtype=np.int64)
    np.testing.assert_array_equal(out.astype(np.int64) & 0xFFFFFFFF, wide & 0xFFFFFFFF)


def test_shifts_and_extensions():
    body = """
      %c3 = arith.constant 3 : i32
      %l = arith.shli %a0, %c3 : i32
      %s = arith.shrsi %l, %c3 : i32
      %u = arith.shrui %l, %c3 : i32
      %h = arith.trunc %s : i32 to i8 loc("x":1:1)
      %w = arith.extsi %h : i8 to i32
      %z = arith.extui %h : i8 to i32
      %p = arith.addi %w, %z : i32
      %result = arith.addi %p, %u : i32""".replace("arith.trunc ", "arith.trunci ")
    out = elementwise(body, [I32], np.zeros_like(I32))
    left = (I32.astype(np.int64) << 3).astype(np.int32)
    narrow = (left >> 3).astype(np.int8)
    expected = (
        narrow.astype(np.int32) + narrow.view(np.uint8).astype(np.int32) + (left.view(np.uint32) >> 3).view(np.int32)
    )
    np.testing.assert_array_equal(out, expected)


def test_divergent_loops_count_per_lane():
    start = np.arange(1, 97, dtype=np.int32)
    body = """
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %three = arith.constant 3 : i32
      %end:2 = scf.while (%x = %a0, %n = %zero) : (i32, i32) -> (i32, i32) {
        %more = arith.cmpi ne, %x, %one : i32
        scf.condition(%more) %x, %n : i32, i32
      } do {
      ^bb0(%x: i32, %n: i32):
        %half = arith.divsi %x, %two : i32
        %bit = arith.remsi %x, %two : i32
        %odd = arith.cmpi eq, %bit, %one : i32
        %next = scf.if %odd -> (i32) {
          %t = arith.muli %x, %three : i32
          %u = arith.addi %t, %one : i32
          scf.yield %u : i32
        } else {
          scf.yield %half : i32
        }
        %n1 = arith.addi %n, %one : i32
        scf.yield %next, %n1 : i32, i32
      }
      %result = arith.addi %end#1, %end#0 : i32"""

    def steps(x: int) -> int:
        count = 0
        while x != 1:
            x = 3 * x + 1 if x % 2 else x // 2
            count += 1
        return count

    for seed in SEEDS:
        out = elementwise(body, [start], np.zeros_like(start), seed=seed)
        assert out.tolist() == [steps(int(x)) + 1 for x in start]


def test_a_switch_takes_each_lane_where_it_belongs():
    x = np.arange(64, dtype=np.int32)
    body = """
      %c4 = arith.constant 4 : i32
      %k = arith.remsi %a0, %c4 : i32
      %index = arith.index_cast %k : i32 to index
      %result = scf.index_switch %index -> i32
      case 0 { %v = arith.constant 10 : i32  scf.yield %v : i32 }
      case 2 { %v = arith.muli %a0, %a0 : i32  scf.yield %v : i32 }
      default { scf.yield %a0 : i32 }"""
    out = elementwise(body, [x], np.zeros_like(x))
    np.testing.assert_array_equal(out, np.where(x % 4 == 0, 10, np.where(x % 4 == 2, x * x, x)))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_floating_point_rounds_like_its_type(dtype):
    name = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}[np.dtype(dtype).name]
    random = np.random.default_rng(3)
    a, b = (random.standard_normal(64).astype(dtype) for _ in range(2))
    body = f"""
      %p = arith.mulf %a0, %a1 : {name}
      %s = arith.addf %p, %a0 : {name}
      %m = arith.maximumf %s, %a1 : {name}
      %result = arith.divf %m, %a0 : {name}"""
    out = elementwise(body, [a, b], np.zeros(64, dtype))
    np.testing.assert_array_equal(out, np.maximum(a * b + a, b) / a)


def test_comparisons_with_nan_are_ordered_or_not():
    a = np.array([1, 2, np.nan, 4] * 8, np.float32)
    b = np.array([1, 3, 3, np.nan] * 8, np.float32)
    body = """
      %o = arith.cmpf olt, %a0, %a1 : f32
      %u = arith.cmpf uge, %a0, %a1 : f32
      %x = arith.extui %o : i1 to i32
      %y = arith.extui %u : i1 to i32
      %two = arith.constant 2 : i32
      %z = arith.muli %y, %two : i32
      %result = arith.addi %x, %z : i32"""
    out = elementwise(body, [a, b], np.zeros(32, np.int32))
    assert out.tolist() == [2, 1, 2, 2] * 8


def test_conversions():
    a = np.array([-3.7, 3.7, 0.5, 1e10, -1e10, np.nan, 65504, -0.0], np.float32)
    body = """
      %h = arith.truncf %a0 : f32 to f16
      %f = arith.extf %h : f16 to f32
      %s = arith.fptosi %a0 : f32 to i32
      %t = arith.sitofp %s : i32 to f32
      %nan = arith.cmpf uno, %f, %f : f32
      %zero = arith.constant 0.0 : f32
      %g = arith.select %nan, %zero, %f : f32
      %result = arith.addf %g, %t : f32"""
    out = elementwise(body, [a], np.zeros_like(a))
    with np.errstate(all="ignore"):
        half = np.nan_to_num(a.astype(np.float16).astype(np.float32), nan=0, posinf=np.inf, neginf=-np.inf)
        whole = np.nan_to_num(np.clip(np.trunc(a), -(2.0**31), 2.0**31)).astype(np.float32)
    np.testing.assert_array_equal(out, half + whole)


def test_vectors_load_store_and_reinterpret():
    x = np.arange(256, dtype=np.float32)
    out = np.zeros(256, np.float32)
    body = """
      %t = gpu.thread_id x
      %c4 = arith.constant 4 : index
      %i = arith.muli %t, %c4 : index
      %v = vector.load %in[%i] : memref<256xf32>, vector<4xf32>
      %two = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32>
      %w = arith.mulf %v, %two : vector<4xf32>
      %b = vector.bitcast %w : vector<4xf32> to vector<4xi32>
      %f = vector.bitcast %b : vector<4xi32> to vector<4xf32>
      %r = vector.shuffle %f, %f [3, 2, 1, 0] : vector<4xf32>, vector<4xf32>
      vector.store %r, %out[%i] : memref<256xf32>, vector<4xf32>"""
    text = kernel(body, "%in: memref<256xf32>, %out: memref<256xf32>", threads=64)
    run(text, signature([("f32", (256,)), ("f32", (256,))], []), [x, out])
    np.testing.assert_array_equal(out.reshape(64, 4), (x.reshape(64, 4) * [1, 2, 3, 4])[:, ::-1])


def test_shuffles_sum_a_warp():
    x = np.arange(64, dtype=np.int32)
    steps = "\n".join(
        f"      %o{d} = arith.constant {d} : i32\n"
        f"      %s{d}, %p{d} = gpu.shuffle xor %v{2 * d}, %o{d}, %width : i32\n"
        f"      %v{d} = arith.addi %v{2 * d}, %s{d} : i32"
        for d in (16, 8, 4, 2, 1)
    )
    body = (
        "      %width = arith.constant 32 : i32\n      %n0 = arith.constant 0 : i32\n"
        f"      %v32 = arith.addi %a0, %n0 : i32\n{steps}\n      %result = arith.addi %v1, %n0 : i32"
    )
    out = elementwise(body, [x], np.zeros_like(x))
    assert out.tolist() == [x[:32].sum()] * 32 + [x[32:].sum()] * 32


def test_votes_and_elections():
    x = np.arange(32, dtype=np.int32)
    body = """
      %all = arith.constant -1 : i32
      %c5 = arith.constant 5 : i32
      %p = arith.cmpi slt, %a0, %c5 : i32
      %ballot = nvvm.vote.sync ballot %all, %p -> i32
      %any = nvvm.vote.sync any %all, %p -> i1
      %e = nvvm.elect.sync -> i1
      %x = arith.extui %any : i1 to i32
      %y = arith.extui %e : i1 to i32
      %c100 = arith.constant 100 : i32
      %c1000 = arith.constant 1000 : i32
      %x2 = arith.muli %x, %c100 : i32
      %y2 = arith.muli %y, %c1000 : i32
      %s = arith.addi %x2, %y2 : i32
      %result = arith.addi %s, %ballot : i32"""
    out = elementwise(body, [x], np.zeros_like(x))
    assert out.tolist() == [31 + 100 + 1000] + [131] * 31


def test_atomics_lose_nothing():
    x = np.arange(128, dtype=np.int32)
    out = np.zeros(4, np.int32)
    body = """
      %t = gpu.thread_id x
      %c4 = arith.constant 4 : index
      %k = arith.remui %t, %c4 : index
      %v = memref.load %in[%t] : memref<128xi32>
      %old = memref.atomic_rmw addi %v, %out[%k] : (i32, memref<4xi32>) -> i32"""
    text = kernel(body, "%in: memref<128xi32>, %out: memref<4xi32>")
    for seed in SEEDS:
        out[:] = 0
        run(text, signature([("i32", (128,)), ("i32", (4,))], []), [x, out], seed)
        assert out.tolist() == [int(x[k::4].sum()) for k in range(4)]


DEVICE_FUNCTION = """
    llvm.func @square(%x: f32) -> f32 {
      %y = llvm.fmul %x, %x : f32
      llvm.return %y : f32
    }
    llvm.func @clamp(%x: f32, %limit: f32) -> f32 {
      %big = llvm.fcmp "ogt" %x, %limit : f32
      llvm.cond_br %big, ^bb1, ^bb2
    ^bb1:
      llvm.return %limit : f32
    ^bb2:
      %y = llvm.call @square(%x) : (f32) -> f32
      llvm.return %y : f32
    }"""


def test_device_functions_are_called():
    x = np.arange(32, dtype=np.float32)
    out = np.zeros_like(x)
    body = """
      %t = gpu.thread_id x
      %v = memref.load %in[%t] : memref<32xf32>
      %limit = arith.constant 7.5 : f32
      %w = llvm.call @clamp(%v, %limit) : (f32, f32) -> f32
      memref.store %w, %out[%t] : memref<32xf32>"""
    text = kernel(body, "%in: memref<32xf32>, %out: memref<32xf32>", DEVICE_FUNCTION, threads=32)
    run(text, signature([("f32", (32,)), ("f32", (32,))], []), [x, out])
    np.testing.assert_array_equal(out, np.where(x > 7.5, np.float32(7.5), x * x))


def test_private_memory_is_per_thread():
    x = np.arange(32, dtype=np.int32)
    out = np.zeros_like(x)
    body = """
      %t = gpu.thread_id x
      %c8 = arith.constant 8 : index
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      %m = memref.alloca() : memref<8xi32>
      %v = memref.load %in[%t] : memref<32xi32>
      scf.for %i = %c0 to %c8 step %c1 {
        %j = arith.index_cast %i : index to i32
        %w = arith.addi %v, %j : i32
        memref.store %w, %m[%i] : memref<8xi32>
      }
      %k = arith.remui %t, %c8 : index
      %r = memref.load %m[%k] : memref<8xi32>
      memref.store %r, %out[%t] : memref<32xi32>"""
    text = kernel(body, "%in: memref<32xi32>, %out: memref<32xi32>", threads=32)
    run(text, signature([("i32", (32,)), ("i32", (32,))], []), [x, out])
    np.testing.assert_array_equal(out, x + x % 8)


BAR = "!nvgpu.mbarrier.group<memorySpace = 3>"


def test_lanes_of_one_warp_may_wait_for_each_other():
    # Lane 0 waits inside its branch for the arrival that the other lanes make in theirs.
    body = f"""
      %c0 = arith.constant 0 : index
      %c31 = arith.constant 31 : index
      %ticks = arith.constant 1000 : index
      %false = arith.constant false
      %t = gpu.thread_id x
      %is0 = arith.cmpi eq, %t, %c0 : index
      %bar = nvgpu.mbarrier.create -> {BAR}
      nvgpu.mbarrier.init %bar[%c0], %c31, predicate = %is0 : {BAR}
      gpu.barrier
      %one = arith.constant 1.0 : f32
      scf.if %is0 {{
        nvgpu.mbarrier.try_wait.parity %bar[%c0], %false, %ticks : {BAR}
        memref.store %one, %out[%c0] : memref<32xf32>
      }} else {{
        %s = nvgpu.mbarrier.arrive %bar[%c0] : {BAR} -> !nvgpu.mbarrier.token
        memref.store %one, %out[%t] : memref<32xf32>
      }}"""
    out = np.zeros(32, np.float32)
    for seed in SEEDS:
        out[:] = 0
        run(kernel(body, "%out: memref<32xf32>", threads=32), signature([("f32", (32,))], []), [out], seed)
        assert out.tolist() == [1] * 32


def test_a_polling_loop_ends_when_the_phase_completes():
    body = f"""
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      %t = gpu.thread_id x
      %is0 = arith.cmpi eq, %t, %c0 : index
      %is32 = arith.cmpi eq, %t, %c32 : index
      %waits = arith.cmpi ult, %t, %c32 : index
      %bar = nvgpu.mbarrier.create -> {BAR}
      nvgpu.mbarrier.init %bar[%c0], %c1, predicate = %is0 : {BAR}
      gpu.barrier
      %one = arith.constant 1.0 : f32
      %p = builtin.unrealized_conversion_cast %bar : {BAR} to memref<1xi64, 3>
      %pi = memref.extract_aligned_pointer_as_index %p : memref<1xi64, 3> -> index
      %p64 = arith.index_cast %pi : index to i64
      %ptr = llvm.inttoptr %p64 : i64 to !llvm.ptr<3>
      %parity = arith.constant 0 : i32
      scf.if %waits {{
        scf.while : () -> () {{
          %done = nvvm.mbarrier.test.wait %ptr, %parity : !llvm.ptr<3>, i32 -> i1
          %true = arith.constant true
          %more = arith.xori %done, %true : i1
          scf.condition(%more)
        }} do {{
          scf.yield
        }}
        memref.store %one, %out[%t] : memref<32xf32>
      }}
      scf.if %is32 {{
        %s = nvgpu.mbarrier.arrive %bar[%c0] : {BAR} -> !nvgpu.mbarrier.token
      }}"""
    out = np.zeros(32, np.float32)
    for seed in SEEDS:
        out[:] = 0
        run(kernel(body, "%out: memref<32xf32>", threads=64), signature([("f32", (32,))], []), [out], seed)
        assert out.tolist() == [1] * 32


def test_a_polling_loop_without_arrival_is_a_deadlock():
    body = f"""
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %bar = nvgpu.mbarrier.create -> {BAR}
      nvgpu.mbarrier.init %bar[%c0], %c1 : {BAR}
      gpu.barrier
      %p = builtin.unrealized_conversion_cast %bar : {BAR} to memref<1xi64, 3>
      %pi = memref.extract_aligned_pointer_as_index %p : memref<1xi64, 3> -> index
      %p64 = arith.index_cast %pi : index to i64
      %ptr = llvm.inttoptr %p64 : i64 to !llvm.ptr<3>
      %parity = arith.constant 0 : i32
      scf.while : () -> () {{
        %done = nvvm.mbarrier.test.wait %ptr, %parity : !llvm.ptr<3>, i32 -> i1
        %true = arith.constant true
        %more = arith.xori %done, %true : i1
        scf.condition(%more)
      }} do {{
        scf.yield
      }}"""
    for seed in SEEDS:
        with pytest.raises(SimulationError, match="No thread has arrived"):
            run(
                kernel(body, "%out: memref<32xf32>", threads=32),
                signature([("f32", (32,))], []),
                [np.zeros(32, np.float32)],
                seed,
            )


def test_a_barrier_that_some_warps_skip_is_a_deadlock():
    body = """
      %c32 = arith.constant 32 : i32
      %id = arith.constant 1 : i32
      %n = arith.constant 64 : i32
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %first = arith.cmpi ult, %t, %c32 : i32
      scf.if %first {
        nvvm.barrier id = %id number_of_threads = %n
      }"""
    with pytest.raises(SimulationError, match="32 of 64 threads have arrived") as error:
        run(
            kernel(body, "%out: memref<32xf32>", threads=64),
            signature([("f32", (32,))], []),
            [np.zeros(32, np.float32)],
        )
    assert error.value.kind == "deadlock"
    assert error.value.location == "-:13:9"


CP_ASYNC = """
      %t = gpu.thread_id x
      %c4 = arith.constant 4 : index
      %i = arith.muli %t, %c4 : index
      %s = memref.get_global @s : memref<128xf32, 3>
      %token = nvgpu.device_async_copy %in[%i], %s[%i], 4 : memref<128xf32> to memref<128xf32, 3>
      %group = nvgpu.device_async_create_group %token
      {wait}
      gpu.barrier
      %last = arith.constant 31 : index
      %j = arith.subi %last, %t : index
      %v = memref.load %s[%j] : memref<128xf32, 3>
      memref.store %v, %out[%t] : memref<32xf32>"""


def test_cp_async_needs_its_wait():
    x, out = np.arange(128, dtype=np.float32), np.zeros(32, np.float32)
    arguments = "%in: memref<128xf32>, %out: memref<32xf32>"
    sign = signature([("f32", (128,)), ("f32", (32,))], [])
    wait = "nvgpu.device_async_wait %group {numGroups = 0 : i32}"
    right = kernel(CP_ASYNC.format(wait=wait), arguments, shared("s", "128xf32"), threads=32)
    run(right, sign, [x, out])
    assert out.tolist() == list(range(31, -1, -1))
    wrong = kernel(CP_ASYNC.format(wait=""), arguments, shared("s", "128xf32"), threads=32)
    with pytest.raises(SimulationError, match=r"which cp\.async of 16 B fills") as error:
        run(wrong, sign, [x, out])
    assert error.value.kind == "read before completion"
