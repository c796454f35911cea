"""What ``assume`` promises, and what the kernel's own arithmetic says of an offset, decide how a copy is planned."""

import numpy as np
import pytest

from support.copy_kernels import global_type, load, store
from tma_mlir.compile.compiler import CompileError, compile_text
from tma_mlir.plan import Variant
from tma_mlir.run.execute import run_simulator
from tma_mlir.sim.errors import SimulationError

BLOCK = """%most = arith.constant 1023 : index
      %block = arith.andi %p, %most : index
      %wide = arith.constant 32 : index
      %far = arith.muli %block, %wide : index
      """
"""A number that is not negative, and 32 times it, of the kernel's argument."""


ARGUMENT = "%p: index"


def plan_of(text):
    (planned,) = compile_text(text, "sm_90a", assemble_cubin=False).plans
    return planned.plan


def never(text):
    """Reasons why the copy does not take TMA; the kernel does not ask again."""
    plan = plan_of(text)
    assert plan.variant.by_threads
    assert not plan.guards
    return plan.explain()


@pytest.mark.parametrize(
    ("element", "width", "off", "left"),
    [
        ("f32", 36, 1, "12 B"),
        ("f16", 40, 4, "8 B"),
        ("i8", 48, 3, "13 B"),
        ("f64", 34, 1, "8 B"),
    ],
)
@pytest.mark.parametrize("direction", ["load", "store"])
@pytest.mark.parametrize("rows", ["64", "?"])
def test_a_start_that_is_never_aligned_is_not_asked_about_in_the_kernel(element, width, off, left, direction, rows):
    before = f"{BLOCK}%halo = arith.constant {off} : index\n%column = arith.subi %far, %halo : index"
    make = load if direction == "load" else store
    tensor = global_type([rows, 512], element)
    said = never(make(tensor, [16, width], element=element, offsets=[0, "%column"], before=before, arguments=ARGUMENT))
    assert "which is never a multiple of 16 B" in said
    assert f"always {left} more" in said


@pytest.mark.parametrize("step", ["%x = arith.subi %far, %c4 : index", "%x = arith.muli %far, %c4 : index"])
def test_a_start_that_is_always_aligned_is_proven(step):
    before = f"{BLOCK}%c4 = arith.constant 4 : index\n{step}"
    tensor, offsets = global_type([64, 512], "f32"), [0, "%x"]
    plan = plan_of(load(tensor, [16, 32], element="f32", offsets=offsets, before=before, arguments=ARGUMENT))
    assert plan.variant is Variant.TMA
    assert not plan.guards


WALK = """%grid = gpu.grid_dim x
      %c64 = arith.constant 64 : index
      %across = arith.ceildivui %n, %c64 : index
      %own = arith.muli %n_steps, %grid : index
      %tile_number = arith.addi %own, %block : index
      %y = arith.divui %tile_number, %across : index
      %x = arith.remui %tile_number, %across : index
      %row = arith.muli %y, %wide : index
      %column = arith.muli %x, %c64 : index"""


@pytest.mark.parametrize("element", ["f32", "f16", "i8"])
def test_quotients_and_remainders_of_a_walk_over_tiles_are_not_negative(element):
    before = f"{BLOCK}%n_steps = arith.constant 3 : index\n{WALK}"
    text = store(
        global_type(["?", "?"], element), [32, 64], element=element, offsets=["%row", "%column"], before=before,
        arguments="%p: index, %n: index", attributes='variant = "tma"',
    )  # fmt: skip
    assert plan_of(text).guards == ()


STARTS = {"element": "f32", "offsets": ["%p", "%q"], "arguments": "%p: index, %q: index"}


@pytest.mark.parametrize(
    ("promise", "rule"),
    [
        ("[1, 4]", "negative coordinate on store"),
        ("[{min = 0}, {divisor = 4}]", "negative coordinate on store"),
        ("[{min = 0}, {min = 0}]", "start coordinate alignment"),
        ("[{min = 0}, {min = 0, divisor = 8, residue = 2}]", "start coordinate alignment"),
        ("[{min = 0}, {min = 0, divisor = 8, residue = 4}]", None),
        ("[{min = 0, max = 0}, {min = 16, max = 16}]", None),
    ],
)
def test_a_promise_of_offsets_answers_what_a_store_needs(promise, rule):
    attributes = f'variant = "tma", assume = {{destination_offsets = {promise}}}'
    text = store(global_type([64, 512], "f32"), [16, 32], attributes=attributes, **STARTS)
    if rule is None:
        assert plan_of(text).guards == ()
        return
    with pytest.raises(CompileError, match=rule):
        plan_of(text)


def test_what_is_promised_of_the_tensor_is_checked_at_launch():
    attributes = 'variant = "tma", assume = {global_sizes = [1, {min = 32, max = 256, divisor = 8, residue = 4}]}'
    text = load(global_type(["?", "?"], "f32"), [8, 32], element="f32", attributes=attributes)
    kernel = compile_text(text, "sm_90a", keep=("lowered",), assemble_cubin=False)
    lowered, signature = kernel.texts["lowered"], kernel.signatures["k"]
    out = np.zeros(256, np.float32)
    data = np.arange(16 * 100, dtype=np.float32).reshape(16, 100)
    run_simulator(lowered, signature, [data, out])
    assert (out.reshape(8, 32) == data[:8, :32]).all()
    with pytest.raises(SimulationError, match=r"a promise of global.dim1.*4 more than a multiple of 8"):
        run_simulator(lowered, signature, [np.zeros((16, 96), np.float32), out])


@pytest.mark.parametrize(
    ("promise", "said"),
    [
        ("{source_offsets = [{least = 0}]}", "does not know 'least'.*divisor, residue, min, max"),
        ("{source_offsets = [{divisor = 8, residue = 8}]}", "residue from 0 to 7"),
        ("{source_offsets = [{divisor = 0}]}", "divisor of 1 or more"),
        ("{source_offsets = [{min = 5, max = 4}]}", "from 5 to 4"),
        ("{source_offsets = [0]}", "dictionary of divisors"),
        ("{source_offsets = [1, 1, 1]}", "3 entries in 'source_offsets', more than the 2"),
        ("{global_sizes = [8, 8, 8]}", "more than the 2"),
        ("{global_offset = [8, 8]}", "dictionary of divisors"),
        ("{sizes = [1]}", "does not know 'sizes'"),
        ("{source_offsets = [{min = 0.5}]}", "dictionary of divisors"),
    ],
)
def test_an_assumption_that_is_not_one_is_an_error(promise, said):
    text = load(global_type([64, 512], "f32"), [16, 32], attributes=f"assume = {promise}", **STARTS)
    with pytest.raises(CompileError, match=said):
        compile_text(text, "sm_90a", assemble_cubin=False)


@pytest.mark.parametrize("promise", ["{max = -1}", "{divisor = 64, residue = 8}", "{min = 8000, max = 9000}"])
def test_an_assumption_that_contradicts_the_kernel_is_an_error(promise):
    before = f"{BLOCK}%m = arith.constant 100 : index\n%x = arith.remui %far, %m : index\n"
    before += "%y = arith.muli %x, %wide : index"
    attributes = f"assume = {{source_offsets = [1, {promise}]}}"
    text = load(
        global_type([64, 512], "f32"),
        [16, 32],
        element="f32",
        offsets=[0, "%y"],
        before=before,
        attributes=attributes,
        arguments=ARGUMENT,
    )
    with pytest.raises(CompileError, match="entry 1 of 'source_offsets' what cannot be"):
        compile_text(text, "sm_90a", assemble_cubin=False)


@pytest.mark.parametrize("rank", [2, 3])
def test_what_is_promised_of_a_view_is_not_taken_for_its_source(rank):
    """The copy is made from the view's source at %p, of which the promise of the view's own start says nothing."""
    shape, sizes = ("64x512", "16, 32") if rank == 2 else ("8x64x512", "1, 16, 32")
    root, view = f"memref<{shape}xf32>", "memref<16x32xf32, strided<[512, 1], offset: ?>>"
    at = "0, %p" if rank == 2 else "0, 0, %p"
    ones = ", ".join("1" for _ in range(rank))
    text = load(
        root, [16, 32], element="f32", arguments=ARGUMENT, attributes="assume = {source_offsets = [1, 8]}",
        before=f"%view = memref.subview %in[{at}] [{sizes}] [{ones}] : {root} to {view}",
    ).replace('"tile.copy_async"(%in', '"tile.copy_async"(%view').replace(f": ({root}", f": ({view}")  # fmt: skip
    (guard,) = plan_of(text).guards
    assert guard.finding.rule == "start coordinate alignment"


@pytest.mark.parametrize(
    ("promise", "entry"),
    [
        ("{source_offsets = [{min = 3}]}", "entry 0 of 'source_offsets'"),
        ("{source_offsets = [1, 8]}", "entry 1 of 'source_offsets'"),
        ("{global_sizes = [{min = 100}]}", "entry 0 of 'global_sizes'"),
        ("{global_strides = [{divisor = 1024}]}", "entry 0 of 'global_strides'"),
        ("{global_offset = 3}", "entry 0 of 'global_offset'"),
    ],
)
def test_what_the_text_itself_says_is_not_contradicted_either(promise, entry):
    text = load(
        global_type([64, 512], "f32"),
        [16, 32],
        element="f32",
        offsets=[0, 4],
        attributes=f"assume = {promise}",
    )
    if promise.startswith("{global_offset"):  # of an offset that is 1
        text = text.replace("memref<64x512xf32>", "memref<64x512xf32, strided<[512, 1], offset: 4>>")
    with pytest.raises(CompileError, match=f"{entry} what cannot be"):
        compile_text(text, "sm_90a", assemble_cubin=False)
