"""Every operand and attribute of the dialect means something in the reference, or provably changes no result.

Each is taken away from the reference in turn, in what it reads (``reading``) or in the call that it executes
(``calling``), and the comparison has to fail; each of the others is taken away, and the result has to stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tma_mlir
from support.cluster_kernels import cluster_load
from support.copy_kernels import load, store
from tma_mlir.compile.compiler import CompileError, compile_text
from tma_mlir.dialect.verifier import OPTIONAL_ATTRIBUTES
from tma_mlir.run import execute
from tma_mlir.run.arguments import make_arguments
from tma_mlir.run.execute import Expected, compare, reference_result, run_simulator
from tma_mlir.run.reference import copy_arguments, lower_reference
from tma_mlir.sim.errors import SimulationError

TENSOR = "memref<16x64xf32>"
ATOMS = 'destination_layout = #tile.atoms<"128B">'
EXPLICIT = 'variant = "tma_explicit", explicit = {box = [8, 32]}'
STRIDES = "assume = {global_strides = [4, 1]}"
GROUPED = Path(__file__).parents[3].joinpath("examples/grouped_load.mlir").read_text()
STRIDED = GROUPED.replace("memref<?x64xf16>", "memref<?x64xf16, strided<[?, 1]>>")
STRIDED = STRIDED.replace("%own, %rows)", "%own, %rows, %pitch)").replace("1, 1, 1, 1, 0>}", "1, 1, 1, 1, 1>}")
STRIDED = STRIDED.replace("128xi8, strided<[1], offset: ?>>, index)", "128xi8, strided<[1], offset: ?>>, index, index)")
STRIDED = STRIDED.replace("%c128 =", "%pitch = arith.constant 64 : index\n      %c128 =")


def a_load(attributes="", **options):
    options = {"tensor": TENSOR, "sizes": (8, 32), "element": "f32", **options}
    return load(options.pop("tensor"), options.pop("sizes"), attributes=attributes, **options)


def a_store(attributes="", **options):
    return store(TENSOR, (8, 32), element="f32", attributes=attributes, **options)


def with_operands(text, names, types, segments):
    """``text`` with more operands for its copy, after the mbarrier."""
    text = text.replace("%barrier, %c0)", f"%barrier, %c0, {names})")
    text = text.replace("!barrier, index)", f"!barrier, index, {types})")
    return text.replace("1, 1, 0, 0, 0>", f"1, 1, {segments}>")


PREDICATED = a_store(before="%no = arith.constant false")
PREDICATED = PREDICATED.replace("(%tile, %out)", "(%tile, %out, %no)").replace(f"{TENSOR}) ->", f"{TENSOR}, i1) ->")
PREDICATED = PREDICATED.replace("0, 0, 0, 0, 0>", "0, 0, 1, 0, 0>")
HINTED = with_operands(a_load(before="%hint = arith.constant 1378095292425961472 : i64"), "%hint", "i64", "0, 0, 1")
ONE_SHARE = cluster_load(
    2, "3", "cluster_split = 2", issues="%who = arith.constant 0 : index\n%issues = arith.cmpi eq, %r, %who : index",
    extra="%half = arith.constant 512 : index\nnvgpu.mbarrier.arrive.expect_tx %barrier[%c0], %half : !barrier",
)  # fmt: skip
"""Only the first of two CTAs issues its share, and both wait for that."""
PAIR = cluster_load(
    2, "3", 'cta_group = 2, mbarrier_cta = "even", cluster_split = 2, expect_tx', arrivals=2,
    waits="%waits = arith.xori %odd, %true : i1",
)  # fmt: skip


def three_rounds(first, second):
    """Two copies, to the halves of a tile, in each of three phases of one mbarrier that expects one arrival."""
    text = a_load(first, sizes=(4, 32), tile=(8, 32))
    copy = re.findall(r'"tile\.copy_async".*', text)[0]
    bare = copy.replace(f"{first}, expect_tx", second) if second else copy.replace(f"{first}, expect_tx, ", "")
    bare = bare.replace("destination_offsets = array<i64: 0, 0>", "destination_offsets = array<i64: 4, 0>")
    rounds = "%again = arith.constant true"
    for parity in ("%phase", "%again", "%phase"):
        rounds += f'\n{copy}\n{bare}\n"tile.wait"(%barrier, %c0, {parity}) : (!barrier, index, i1) -> ()'
    end = re.findall(r"nvgpu\.mbarrier\.try_wait.*", text)[0]
    return text.replace(copy, rounds).replace(end, "gpu.barrier")


IM2COL = 'mode = "im2col", im2col = {lower_corner = [-1, -1], upper_corner = [-1, -1]}'
PIXELS = a_load(IM2COL, tensor="memref<2x5x6x32xf16>", sizes=(24, 32), element="f16", offsets=(0, -1, -1, 0, 1, 1))
WHOLE = "#tile.layout<[2, 8, 64], [64, 128, 1]>"


ROW = "%r = arith.constant 3 : index"
ROWS = a_load('mode = "gather4"', sizes=(4, 32), offsets=(3, 1, 9, 9, 0))
TRUE = "%true = arith.constant true\n      %c128 ="
BY_CTA = a_store('reduce = "add", scope = "cta"').replace("%c128 =", TRUE)
BY_CTA = BY_CTA.replace('scf.if %leader {\n        "tile', 'scf.if %true {\n        "tile')
PREFETCH = f""""tile.prefetch_async"(%in) {{
  static_source_offsets = array<i64: 0, 0>, sizes = array<i64: 4, 32>, operandSegmentSizes = array<i32: 1, 0, 0, 0>
}} : ({TENSOR}) -> ()"""
LATE = a_load().replace("eq, %thread, %c0", "eq, %thread, %c96")
LATE = LATE.replace("%c128 =", "%c96 = arith.constant 96 : index\n      %c128 =")
LATE = re.sub(r"nvgpu\.mbarrier\.try_wait.*", '"tile.wait"(%barrier, %c0, %phase) : (!barrier, index, i1) -> ()', LATE)
SECOND = GROUPED.replace("%rows_a =", "%address_b_ = arith.index_cast %address_b : index to i64\n      %rows_a =")
BOTH = cluster_load(2, "3", "cluster_split = 2, expect_tx")


@dataclass(frozen=True)
class Case:
    """``reading`` changes the text that the reference reads, ``calling`` the lowered module that it executes."""

    text: str
    reading: tuple[str, str] = ("", "")
    calling: tuple[str, str] = ("", "")
    chip: str = "sm_90a"


def without(attribute, text, **options):
    """A case that leaves the attribute out."""
    assert attribute in text
    return Case(text, (f"{attribute}, ", ""), **options)


def grouped(old, new, text=GROUPED):
    return Case(text, (old, new))


MEANING: dict[str, Case] = {
    # Operands of tile.copy_async, and attributes that IRDL requires.
    "source": Case(a_load(arguments=f"%other: {TENSOR}"), ("(%in, %tile", "(%other, %tile")),
    "destination": Case(a_store(arguments=f"%other: {TENSOR}"), ("%tile, %out", "%tile, %other")),
    "source_offsets": Case(a_load(offsets=("%r", 4), before=ROW), ("constant 3", "constant 5")),
    "destination_offsets": Case(a_store(offsets=("%r", 4), before=ROW), ("constant 3", "constant 5")),
    "static_source_offsets": Case(a_load(offsets=(3, 4)), ("array<i64: 3, 4>", "array<i64: 2, 4>")),
    "static_destination_offsets": Case(a_store(offsets=(3, 4)), ("array<i64: 3, 4>", "array<i64: 3, 8>")),
    "sizes": Case(a_store(), ("sizes = array<i64: 8, 32>", "sizes = array<i64: 7, 32>")),
    "mbarrier": Case(a_load(), ("%tile, %barrier, %c0", "%tile, %else, %c0")),
    "mbarrier_index": Case(a_load(), ("%tile, %barrier, %c0", "%tile, %barrier, %c1")),
    "predicate": Case(PREDICATED, ("%no = arith.constant false", "%no = arith.constant true")),
    "multicast_mask": Case(BOTH, calling=("multicast = 1", "multicast = 0")),
    # Optional attributes of tile.copy_async.
    "source_layout": without(f"source_layout = {WHOLE}", a_load(f"source_layout = {WHOLE}", sizes=(16, 64))),
    "destination_layout": without(ATOMS, a_load(ATOMS, sizes=(16, 64))),
    "swizzle": without('swizzle = #tile.swizzle<"128B">', a_load('swizzle = #tile.swizzle<"128B">')),
    "oob": without('oob = "nan"', a_load('oob = "nan"', offsets=(12, 0))),
    "expect_tx": without("expect_tx", a_load()),
    "announce_bytes": Case(
        three_rounds("announce_bytes = 1024", ""), calling=("announce_bytes = 1024", "announce_bytes = 0")
    ),
    "announce_only": Case(
        three_rounds("announce_only", "expect_tx"), calling=('announce = "only"', 'announce = "arrive"')
    ),
    "scope": Case(BY_CTA, ('scope = "cta"', 'scope = "thread"')),
    "reduce": without('reduce = "add"', a_store('reduce = "add"')),
    "tf32": without("tf32", a_load("tf32")),
    "cta_group": Case(PAIR, calling=("cta_group = 2", "cta_group = 1"), chip="sm_100a"),
    "mbarrier_cta": Case(PAIR, calling=('mbarrier_cta = "even"', 'mbarrier_cta = "own"'), chip="sm_100a"),
    "cluster_split": Case(ONE_SHARE, calling=("cluster_split = 2", "cluster_split = 1")),
    "mode": Case(ROWS, calling=('mode = "gather4"', 'mode = "tile"'), chip="sm_100a"),
    "im2col": Case(PIXELS, calling=("lower_corner = [-1, -1]", "lower_corner = [-1, 0]")),
    # Operands of tile.wait and tile.rebase_tensor. The loading thread is not of the first warp: the others must wait.
    "parity": Case(LATE, ("%c0, %phase)", "%c0, %leader)")),
    "tensor": grouped("(%a, %address", "(%b, %address_b_", SECOND),
    "address": grouped("arith.index_cast %address_index", "arith.index_cast %address_a"),
    "size": grouped("%own, %rows)", "%own, %rows_b)"),
    "stride": grouped("%rows, %pitch)", "%rows, %c32)", STRIDED),
}  # fmt: skip

SAME: dict[str, Case] = {
    # Hints, limits on the way a copy takes, and promises: the bytes are the same.
    "cache": without('cache = "evict_last:0.5"', a_load('cache = "evict_last:0.5"')),
    "cache_hint": Case(HINTED, ("constant 1378095292425961472", "constant 0")),
    "l2_promotion": without("l2_promotion = 256 : i64", a_load("l2_promotion = 256 : i64")),
    "variant": without('variant = "simt"', a_load('variant = "simt"')),
    "explicit": without(EXPLICIT, a_load(EXPLICIT)),
    "in_bounds": without("in_bounds", a_load("in_bounds")),
    "assume": without(STRIDES, a_load(STRIDES)),
    "padding_is_scratch": without("padding_is_scratch", a_load("padding_is_scratch")),
    # A plan is how, not what: the reference makes none. The bytes of descriptors mean nothing.
    "plan": Case(a_load()),
    "scratch": grouped("memref<256xi8>,", "memref<256xi8>, "),
    # A store by definition is complete at once.
    "pending": Case(a_store(), ("nvvm.cp.async.bulk.commit.group\n", "\n")),
    # A prefetch changes no memory that a kernel sees.
    "prefetch": Case(a_load(before=PREFETCH), ("array<i64: 4, 32>", "array<i64: 4, 16>")),
}  # fmt: skip

REFUSED = {"packing"}
"""Of elements that nothing here executes: a located error, tested below."""
BETWEEN_PASSES = {"descriptor", "map", "rebased"}
"""Of operations that the pass never meets, and results."""


def arguments_of(signature):
    """Random values, with room for rebased tensors."""
    shapes = {0: "@40x64", 1: "@24x64"} if signature.name == "grouped_load" else {}
    values = {
        index: f"random:{index + 1}{shapes.get(index, '')}"
        for index, each in enumerate(signature.arguments)
        if hasattr(each, "shape")
    }
    values |= {2: "zeros"} if shapes else {}
    values |= {index: "3" for index in range(len(signature.arguments)) if index not in values}
    return make_arguments(signature, values)


def reference(case, values, name, monkeypatch, *, whole=False):
    """The reference's result, what the case takes away from it taken away (nothing if ``whole``)."""
    old, new = ("", "") if whole else case.reading
    assert old in case.text
    text = case.text.replace(old, new) if old else case.text
    if case.calling[0] and not whole:

        def changed(*arguments):
            lowered, *rest = lower_reference(*arguments)
            assert case.calling[0] in lowered
            return lowered.replace(*case.calling), *rest

        monkeypatch.setattr(execute, "lower_reference", changed)
    return reference_result(text, "k.mlir", name, values)


def executed(case):
    """Arguments, and what they are after the compiled kernel."""
    text = case.text
    compiled = compile_text(text, case.chip, keep=("lowered",))
    ((name, signature),) = compiled.signatures.items()
    values = arguments_of(signature)
    found = copy_arguments(values)
    run_simulator(compiled.texts["lowered"], signature, found)
    return name, values, found


def prepared(case):
    """A second mbarrier for the case that names another one."""
    if "%else" not in case.reading[1]:
        return case
    more = "%else = nvgpu.mbarrier.create -> !barrier\n      scf.if %leader {\n"
    more += "nvgpu.mbarrier.init %else[%c0], %c1 : !barrier"
    return Case(case.text.replace("scf.if %leader {", more, 1), case.reading)


@pytest.mark.parametrize("name", MEANING)
def test_the_comparison_fails_where_the_reference_ignores_it(name, monkeypatch):
    case = prepared(MEANING[name])
    kernel, values, found = executed(case)
    assert compare(found, reference(case, values, kernel, monkeypatch, whole=True)) == []
    try:
        wrong = reference(case, values, kernel, monkeypatch)
    except (SimulationError, CompileError):
        return  # It never ends, or uses what is not there.
    assert compare(found, wrong) != []


@pytest.mark.parametrize("name", SAME)
def test_the_result_is_the_same_without_it(name, monkeypatch):
    case = SAME[name]
    kernel, values, found = executed(case)
    whole = reference(case, values, kernel, monkeypatch, whole=True)
    assert compare(found, whole) == []
    assert compare(reference(case, values, kernel, monkeypatch), whole) == []


def test_packed_elements_are_refused_by_the_reference():
    text = load("memref<8x256xi4>", (8, 256), element="i4", attributes='packing = "8B"')
    with pytest.raises(CompileError, match=r":\d+:\d+: error: .* packed elements \(i4\), which are not simulated"):
        lower_reference(text, "k.mlir")


@pytest.mark.parametrize("mode", ["im2col_w", "im2col_w_128"])
def test_wide_im2col_is_refused_by_the_reference(mode):
    text = a_load(
        f'mode = "{mode}", im2col = {{lower_corner = [0], upper_corner = [0]}}', tensor="memref<2x5x6x32xf16>",
        sizes=(16, 32), element="f16", offsets=(0, 0, 0, 0, 0, 0),
    )  # fmt: skip
    with pytest.raises(CompileError, match=rf":\d+:\d+: error: .* mode \"{mode}\", which is not simulated"):
        lower_reference(text, "k.mlir")


def declared() -> set[str]:
    """Operands and attributes that the IRDL definition declares, by name; singular where the values' type is named."""
    text = Path(tma_mlir.irdl_path()).read_text()
    operations = text[text.index("irdl.operation @copy_async") :]
    hidden = r"irdl\.operation @(prefetch_async|create_descriptor) \{.*?\n  \}"
    operations = re.sub(hidden, "", operations, flags=re.DOTALL)
    return set(re.findall(r"%(\w+) = irdl\.", operations))


def test_nothing_of_the_dialect_is_forgotten():
    names = {"source_offset": "source_offsets", "destination_offset": "destination_offsets"}
    dialect = {names.get(each, each) for each in declared()} | set(OPTIONAL_ATTRIBUTES)
    assert dialect - BETWEEN_PASSES == (set(MEANING) | set(SAME) | REFUSED) - {"prefetch"}
    assert not set(MEANING) & set(SAME)


SUM = """
module attributes {{gpu.container_module}} {{ gpu.module @m {{
  memref.global "private" @tile : memref<4x16x{0}, #gpu.address_space<workgroup>>
  gpu.func @k(%in: memref<8x4x16x{0}>, %out: memref<4x16x{0}>) kernel
      attributes {{known_block_size = array<i32: 1, 1, 1>, known_grid_size = array<i32: 8, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %block = gpu.block_id x
    %tile = memref.get_global @tile : memref<4x16x{0}, #gpu.address_space<workgroup>>
    scf.for %i = %c0 to %c4 step %c1 {{
      scf.for %j = %c0 to %c16 step %c1 {{
        %v = memref.load %in[%block, %i, %j] : memref<8x4x16x{0}>
        memref.store %v, %tile[%i, %j] : memref<4x16x{0}, #gpu.address_space<workgroup>>
      }}
    }}
    nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
    "tile.copy_async"(%tile, %out) {{static_source_offsets = array<i64: 0, 0>, reduce = "{1}",
      static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 4, 16>,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>}}
      : (memref<4x16x{0}, #gpu.address_space<workgroup>>, memref<4x16x{0}>) -> ()
    "tile.commit_group"() : () -> ()
    "tile.wait_group"() {{pending = 0 : i64}} : () -> ()
    gpu.return
  }} }} }}"""

SUMS: list[tuple[str, type, str, Callable]] = [
    ("f32", np.float32, "add", np.sum), ("f16", np.float16, "add", np.sum), ("bf16", ml_dtypes.bfloat16, "add", np.sum),
    ("f64", np.float64, "add", np.sum), ("i32", np.int32, "add", np.sum), ("i32", np.int32, "max", np.max),
    ("f16", np.float16, "min", np.min), ("ui32", np.uint32, "xor", np.bitwise_xor.reduce),
]  # fmt: skip


@pytest.mark.parametrize(("element", "dtype", "kind", "numpy"), SUMS)
def test_blocks_may_reduce_in_any_order(element, dtype, kind, numpy):
    """Sums of floats in another order are right, those further away are not; integers and comparisons are exact."""
    text = SUM.format(element, kind)
    exact = element[0] in "iu" or kind != "add"
    random = np.random.default_rng(2)
    terms = random.integers(0, 1000, (8, 4, 16)) if exact else random.random((8, 4, 16)) * 10 - 3
    values = [terms.astype(dtype), terms[0].astype(dtype)]
    expected = reference_result(text, "k.mlir", "k", values)
    assert isinstance(expected, Expected)
    assert set(expected.slack) == (set() if exact else {1})
    orders = [random.permutation(8) for _ in range(5)]
    found: list[Any] = []
    for order in orders:
        found = list(copy_arguments(values))
        for block in order:
            found[1][:] = numpy([found[1], values[0][block]], axis=0).astype(dtype)
        assert compare(found, expected) == []
    if exact:
        np.testing.assert_array_equal(expected[1], found[1])
        found[1][3, 3] += 1
    else:
        found[1][3, 3] += dtype(3 * expected.slack[1][3, 3])
    assert len(compare(found, expected)) == 1


def test_one_addition_is_the_same_in_any_order():
    """No slack where nothing depends on an order."""
    text = store("memref<16x64xf32>", (8, 32), element="f32", attributes='reduce = "add"')
    compiled = compile_text(text, keep=("lowered",))
    expected = reference_result(text, "k.mlir", "k", arguments_of(compiled.signatures["k"]))
    assert expected.slack == {}
