"""A plan is for the copy it was made for: what is changed afterwards is reported, what only adds knowledge is not."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tma_mlir.analysis.ir_access import copies_in
from tma_mlir.bindings import ir
from tma_mlir.compile.compiler import CompileError, compile_text
from tma_mlir.diagnostics import collecting
from tma_mlir.dialect import make_context
from tma_mlir.dialect.verifier import OPTIONAL_ATTRIBUTES
from tma_mlir.passes.pipeline import run_pipeline

COPY = """
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!tile = memref<32x64xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  memref.global "private" @tile : !tile
  gpu.func @k(%in: memref<1024x512xf32>, %i: index, %p: i1, %hint: i64, %mask: i16) kernel {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %row = arith.muli %i, %c8 : index
    %tile = memref.get_global @tile : !tile
    %b = nvgpu.mbarrier.create -> !barrier
    "tile.copy_async"(%in, %tile, %row, %b, %c0) {
      static_source_offsets = array<i64: -9223372036854775808, 64>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 32, 64>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
    } : (memref<1024x512xf32>, !tile, index, !barrier, index) -> ()
    gpu.return
  }
}
"""


def planned(text, chip="sm_90a"):
    with make_context():
        root = ir.Module.parse(text).operation
        run_pipeline(root, f"builtin.module(tile-plan-copies{{chip={chip}}})")
        return str(root)


PLANNED = planned(COPY)


def said(text, pipeline, change=lambda copy: None):
    """Errors and remarks of a pipeline on the planned module after ``change``, and the module."""
    context = make_context()
    with context, collecting(context, remarks=True) as seen:
        root = ir.Module.parse(text).operation
        change(copies_in(root)[0])
        try:
            run_pipeline(root, f"builtin.module({pipeline})")
        except ir.MLIRError:
            assert seen.failed
        return [(each.severity, each.message) for each in seen.seen], str(root)


def is_reported(text, change=lambda copy: None):
    """Whether each pass that meets the plan says that it is stale, or the verifier that there is no such copy."""
    for pipeline in ("tile-verify", "convert-tile-to-nvgpu"):
        messages, _ = said(text, pipeline, change)
        if not any(severity == "error" for severity, _ in messages):
            return False
    return True


ATTRIBUTES = {
    "source_layout": ["#tile.layout<[1024, 512], [512, 1]>", "#tile.layout<[512, 1024], [1, 512]>"],
    "destination_layout": ["#tile.layout<[32, 64], [64, 1]>", '#tile.atoms<"128B">'],
    "swizzle": ['#tile.swizzle<"32B">', '#tile.swizzle<"128B">'],
    "oob": ['"nan"'],
    "in_bounds": ["unit"],
    "l2_promotion": ["0 : i64", "64 : i64", "256 : i64"],
    "variant": ['"tma"', '"bulk"', '"simt"', '"cp_async"'],
    "explicit": ["{box = [32, 64]}"],
    "padding_is_scratch": ["unit"],
    "scope": ['"warp"', '"cta"'],
    "expect_tx": ["unit"],
    "announce_bytes": ["8192 : i64"],
    "tf32": ["unit"],
    "reduce": ['"add"'],
    "cache": ['"evict_last"', '"evict_first:0.5"'],
    "announce_only": ["unit"],
    "cta_group": ["2 : i64"],
    "mbarrier_cta": ['"own"', '"even"'],
    "cluster_split": ["2 : i64"],
    "assume": ["{source_offsets = [64]}", "{global_offset = 8}"],
    "packing": ['"8B"'],
    "mode": ['"gather4"', '"im2col"'],
    "im2col": ["{lower_corner = [], upper_corner = []}"],
}
SAME = {"#tile.layout<[1024, 512], [512, 1]>", "#tile.layout<[32, 64], [64, 1]>"}
"""Say what the memref's type says."""


def test_every_attribute_is_tried():
    assert set(ATTRIBUTES) == set(OPTIONAL_ATTRIBUTES) - {"plan"}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in ATTRIBUTES.items() for value in values])
def test_an_attribute_that_was_added(name, value):
    def change(copy):
        copy.operation.attributes[name] = ir.Attribute.parse(value)

    assert is_reported(PLANNED, change) is (value not in SAME)


@pytest.mark.parametrize("name", ["oob", "in_bounds", "scope", "cache", "assume", "l2_promotion", "swizzle", "variant"])
def test_an_attribute_that_was_taken_away(name):
    with_it = COPY.replace(
        "sizes = array<i64: 32, 64>,", f"sizes = array<i64: 32, 64>, {name} = {ATTRIBUTES[name][-1]},"
    )
    if name == "swizzle":
        with_it = with_it.replace("64xf32, #gpu", "32xf32, #gpu").replace("32, 64>", "32, 32>")
    if name == "variant":
        with_it = with_it.replace(ATTRIBUTES[name][-1], '"tma"').replace("-9223372036854775808, 64", "0, 64")
        with_it = with_it.replace("%row, %b", "%b").replace("1, 1, 1, 0, 1", "1, 1, 0, 0, 1").replace("index, !b", "!b")
    text = planned(with_it)

    def change(copy):
        del copy.operation.attributes[name]

    assert not is_reported(text)
    assert is_reported(text, change)


@settings(max_examples=60, deadline=None)
@given(st.tuples(st.integers(0, 32), st.integers(0, 64)))
def test_sizes(sizes):
    def change(copy):
        copy.operation.attributes["sizes"] = ir.DenseI64ArrayAttr.get(sizes)

    assert is_reported(PLANNED, change) is (sizes != (32, 64))


@settings(max_examples=60, deadline=None)
@given(st.integers(-128, 600), st.tuples(st.integers(0, 32), st.integers(0, 64)))
def test_static_offsets(column, inside):
    def change(copy):
        attributes = copy.operation.attributes
        attributes["static_source_offsets"] = ir.DenseI64ArrayAttr.get([-(2**63), column])
        attributes["static_destination_offsets"] = ir.DenseI64ArrayAttr.get(inside)

    assert is_reported(PLANNED, change) is (column != 64 or inside != (0, 0))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 128))
def test_what_a_dynamic_offset_is_a_multiple_of(factor):
    """It may be of more than before, not of less."""
    text = PLANNED.replace("%c8 = arith.constant 8", f"%c8 = arith.constant {factor}")
    assert is_reported(text) is (factor % 8 != 0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("memref<1024x512xf32>", "memref<1024x256xf32>"),
        ("memref<1024x512xf32>", "memref<?x512xf32>"),
        ("memref<1024x512xf32>", "memref<1024x512xf32, strided<[1024, 1]>>"),
        ("memref<1024x512xf32>", "memref<1024x512xf32, strided<[512, 1], offset: 4>>"),
        ("memref<32x64xf32, ", "memref<64x64xf32, "),
        ("xf32", "xf16"),
        ("xf32", "xi32"),
    ],
)
def test_types(old, new):
    assert old in PLANNED
    head, plan, tail = re.split(r"(#tile\.plan<.*?\}>, sizes)", PLANNED, maxsplit=1)
    assert is_reported(head.replace(old, new) + plan + tail.replace(old, new))


@pytest.mark.parametrize(
    ("operand", "type_", "segments"),
    [("%arg2", "i1", "1, 0, 0"), ("%arg4", "i16", "0, 1, 0"), ("%arg3", "i64", "0, 0, 1")],
)
def test_operands_that_were_added(operand, type_, segments):
    text = re.sub(r'("tile.copy_async"\([^)]*)\)', rf"\1, {operand})", PLANNED)
    text = text.replace("1, 1, 1, 0, 1, 1, 0, 0, 0>", f"1, 1, 1, 0, 1, 1, {segments}>")
    text = re.sub(r"(!nvgpu.mbarrier.group<[^>]*>>, index)\) -> \(\)", rf"\1, {type_}) -> ()", text)
    assert is_reported(text)


def test_what_changed_is_said_at_the_copy_with_a_remedy():
    text = PLANNED.replace("sizes = array<i64: 32, 64>", "sizes = array<i64: 16, 64>")
    with pytest.raises(CompileError) as caught:
        compile_text(text, name="kernel.mlir", assemble_cubin=False)
    message = str(caught.value)
    assert re.match(r"kernel.mlir:\d+:\d+: error: 'tile.copy_async' op has a stale plan: ", message)
    assert "global region extents: [32, 64] when planned, [16, 64] now" in message
    assert "Run tile-plan-copies, which plans it anew" in message


def test_a_stale_copy_is_planned_anew_with_a_remark():
    text = PLANNED.replace("sizes = array<i64: 32, 64>", "sizes = array<i64: 16, 64>")
    messages, root = said(text, "tile-plan-copies")
    assert any(severity == "remark" and "planned anew: global region extents" in text for severity, text in messages)
    assert "transaction_bytes = 4096" in root
    assert not is_reported(root)


def test_another_chip_is_planned_anew_with_a_remark():
    messages, root = said(PLANNED, "tile-plan-copies{chip=sm_100a}")
    assert any("planned anew: chip: sm_90a when planned, sm_100a now" in text for _, text in messages)
    assert 'chip = "sm_100a"' in root


def test_a_plan_that_is_right_is_kept():
    messages, root = said(PLANNED, "tile-plan-copies")
    assert not any("anew" in text for _, text in messages)
    assert root == said(PLANNED, "")[1]


@pytest.mark.parametrize("between", ["canonicalize", "cse", "canonicalize,cse", "gpu.module(gpu.func(canonicalize))"])
def test_what_becomes_known_is_no_change(between):
    """The row is constant after canonicalisation: that is more than the plan relies on."""
    known = COPY.replace("%row = arith.muli %i, %c8", "%c5 = arith.constant 5 : index\n%row = arith.muli %c5, %c8")
    messages, root = said(planned(known), f"{between},convert-tile-to-nvgpu")
    assert not [each for each in messages if each[0] == "error"]
    assert "nvgpu.tma.async.load" in root
    unknown, _ = said(PLANNED, f"{between},convert-tile-to-nvgpu")
    assert not [each for each in unknown if each[0] == "error"]
