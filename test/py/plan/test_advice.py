"""A plan says where one thread does all the work, why, and what to do; and where a layout costs instructions."""

import re

import pytest

from support.copy_kernels import global_type, load, store
from tma_mlir.compile.compiler import compile_text
from tma_mlir.plan import Variant
from tma_mlir.run.report import plan_lines


def compiled(text):
    return compile_text(text, "sm_90a", assemble_cubin=False)


DENSE = {
    # A dense matrix whose pitch is not a multiple of 16 bytes: kernel, copies, bytes of each, the pitch that would do.
    "f32 load": (load(global_type([100, 777], "f32"), [32, 32], element="f32"), 1024, 4, 3120),
    "f16 load": (load(global_type([100, 778], "f16"), [16, 32], element="f16"), 256, 4, 1568),
    "i8 store": (store(global_type([100, 77], "i8"), [16, 32], element="i8"), 512, 1, 80),
    "f64 load": (load(global_type([4, 20, 33], "f64"), [2, 8, 32], element="f64"), 512, 8, 272),
}


@pytest.mark.parametrize("name", DENSE)
def test_a_copy_by_one_thread_is_a_warning_with_reason_and_remedy(name):
    text, count, width, pitch = DENSE[name]
    made = compiled(text)
    (warning,) = map(str, made.warnings)
    assert re.match(r"-:\d+:\d+: warning: 'tile.copy_async' op: one thread makes this copy by itself", warning)
    assert f"{count} copies of {width} B" in warning
    assert "rule: global stride alignment" in warning
    assert f"Pad the pitch to {pitch} B" in warning
    assert 'scope = "cta"' in warning
    (planned,) = made.plans
    assert f"{planned.plan.variant} by one thread, {count} copies of {width} B" in plan_lines(planned)[0]
    assert "warning: one thread" in planned.plan.explain()
    assert planned.plan.to_dict()["warnings"]


@pytest.mark.parametrize(
    ("attributes", "width"),
    [('scope = "cta"', 777), ('variant = "cp_async"', 777), ('variant = "simt"', 777), ("", 780)],
)
def test_what_is_asked_for_or_shared_is_not_warned_of(attributes, width):
    """``scope`` and the padded pitch are the remedies that the warning names."""
    text = load(global_type([100, width], "f32"), [32, 32], element="f32", attributes=attributes)
    if "scope" in attributes:
        text = re.sub(r"scf.if %leader \{(\s+\"tile.copy_async.*\n)\s+\}", r"\1", text)
    assert compiled(text).warnings == ()


def test_one_vector_is_not_a_loop():
    assert compiled(load(global_type([100, 777], "f32"), [1, 1], element="f32")).warnings == ()


WIDE = [
    ("f32", [32, 64], "128B", 64),
    ("f16", [16, 128], "128B", 32),
    ("f16", [16, 64], "64B", 0),  # not at all: the second half of a row starts at byte 64
    ("i8", [8, 128], "32B", 0),
]


@pytest.mark.parametrize(("element", "tile", "mode", "instructions"), WIDE)
@pytest.mark.parametrize("make", [load, store])
def test_a_swizzled_row_that_is_too_wide_hints_at_atoms(make, element, tile, mode, instructions):
    """Rows of 496 elements are not a whole number of swizzle spans, so the end of the tensor keeps rows apart."""
    forced = ', variant = "tma"' if instructions else ""
    side = "destination" if make is load else "source"
    other = "source" if make is load else "destination"

    def plan(layout):
        promise = f"assume = {{{other}_offsets = [1, {{divisor = 16, min = 0}}]}}"
        tensor = global_type([64, 496], element)
        text = make(tensor, tile, element=element, offsets=[0, "%p"], arguments="%p: index",
                    attributes=f"{layout}, {promise}{forced}")  # fmt: skip
        (planned,) = compiled(text).plans
        return planned.plan

    wide = plan(f'swizzle = #tile.swizzle<"{mode}">')
    assert wide.instruction_count == instructions
    (hint,) = wide.to_dict()["hints"]
    assert f'with {side}_layout = #tile.atoms<"{mode}">' in hint
    assert f"hint: {hint}" in wide.explain()
    # What it says is true.
    better = plan(f'{side}_layout = #tile.atoms<"{mode}">')
    assert better.instruction_count == int(hint.split()[0])
    assert better.instruction_count < wide.instruction_count or wide.variant.by_threads
    assert better.to_dict()["hints"] == []


def test_another_way_lost_for_a_reason():
    (planned,) = compiled(load(global_type([64, 512], "f32"), [32, 32], element="f32")).plans
    assert planned.plan.variant is Variant.TMA
    assert "not cp_async: 1 instruction instead of 256 copies of 16 B by threads" in planned.plan.explain()
    (planned,) = compiled(DENSE["f32 load"][0]).plans
    assert "not simt: the same 1024 copies of 4 B, through registers" in planned.plan.explain()
