"""Tensors chosen at run time: the host cannot encode descriptors of them, and the plan says so."""

import re

import numpy as np
import pytest

from support.by_definition import run_by_definition
from support.copy_kernels import load, store
from tma_mlir.compile.compiler import CompileError, compile_text
from tma_mlir.plan.explain import alternatives
from tma_mlir.run.execute import run_simulator

SELECT = "%chosen = arith.select %which, {0}, %other : {1}"
BRANCH = """%chosen = scf.if %which -> ({1}) {{
        scf.yield {0} : {1}
      }} else {{
        scf.yield %other : {1}
      }}"""
LOOP = """%two_ = arith.constant 2 : index
      %one_ = arith.constant 1 : index
      %zero_ = arith.constant 0 : index
      %chosen = scf.for %i_ = %zero_ to %two_ step %one_ iter_args(%t = {0}) -> ({1}) {{
        %n = arith.select %which, %t, %other : {1}
        scf.yield %n : {1}
      }}"""
WAYS = {"select": SELECT, "if": BRANCH, "loop": LOOP}


def kernel(way, type_, *, is_store=False, attributes='scope = "cta"', element="f32", sizes=(8, 32)):
    make, name = (store, "%out") if is_store else (load, "%in")
    before = WAYS[way].format(name, type_)
    text = make(
        type_, sizes, element=element, attributes=attributes, before=before,
        arguments=f"%other: {type_}, %which: i1",
    )  # fmt: skip
    operands = "%tile, %out" if is_store else "%in, %tile"
    text = text.replace(f"({operands}", f"({operands.replace(name, '%chosen')}")
    if "cta" in attributes:
        # All threads execute a copy of the CTA.
        text = re.sub(r"scf\.if %leader \{\s*(\"tile\.copy_async\".*?\n)\s*\}", r"\1", text)
        text = re.sub(
            r"scf\.if %leader \{\s*(\"tile\.copy_async\".*?\n)(.*?wait_group 0)", r"\1scf.if %leader {\n\2", text,
            flags=re.DOTALL,
        )  # fmt: skip
    return text


CASES = {
    "select, load": ("select", "memref<16x64xf32>", {}),
    "if, load of a dynamic tensor": ("if", "memref<?x?xf32>", {}),
    "loop, load": ("loop", "memref<16x64xf16>", {"element": "f16"}),
    "select, store": ("select", "memref<16x64xf32>", {"is_store": True}),
    "if, store": ("if", "memref<8x2x16xbf16>", {"is_store": True, "element": "bf16", "sizes": (4, 2, 16)}),
}


@pytest.mark.parametrize("name", CASES)
def test_another_way_is_taken_and_the_plan_says_why(name):
    way, type_, options = CASES[name]
    text = kernel(way, type_, **options)
    shape = "@16x64" if "?" in type_ else ""
    for which in ("0", "1"):
        given = {f"a{index}": f"random:{index}{shape * (index != 1)}" for index in range(3)}
        compiled = run_by_definition(text, {**given, "a3": which})
        (planned,) = compiled.plans
        assert planned.plan.variant != "tma"
        reasons = {other.name: other.findings for other in alternatives(planned.plan)}
        assert [each.rule for each in reasons["tma"]] == ["host tensor"]
    assert "cp.async.bulk.tensor" not in compiled.ptx


def test_numpy_sees_the_tensor_that_was_chosen():
    compiled = compile_text(kernel("select", "memref<16x64xf32>"), keep=("lowered",))
    for which in (False, True):
        tensors = [np.random.default_rng(seed).random((16, 64), np.float32) for seed in (1, 2)]
        out = np.zeros(256, np.float32)
        values = [tensors[0], out, tensors[1], which]
        run_simulator(compiled.texts["lowered"], compiled.signatures["k"], values)
        np.testing.assert_array_equal(out.reshape(8, 32), tensors[not which][:8, :32])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_store", [False, True])
def test_tma_by_force_is_a_located_error_with_a_remedy(way, is_store):
    text = kernel(way, "memref<16x64xf32>", is_store=is_store, attributes='variant = "tma"')
    with pytest.raises(CompileError, match="put a copy of each under its own condition") as error:
        compile_text(text)
    assert re.match(r".*:\d+:\d+: error: 'tile\.copy_async' op ", str(error.value))
    assert str(error.value).count("error:") == 1


def test_the_remedy_works():
    """A copy of each tensor under its own condition."""
    type_ = "memref<16x64xf32>"
    text = load(type_, (8, 32), element="f32", attributes='variant = "tma"', arguments=f"%other: {type_}, %which: i1")
    copy = re.findall(r'"tile\.copy_async".*', text)[0]
    second = copy.replace("%in", "%other")
    compiled = run_by_definition(
        text.replace(copy, f"scf.if %which {{\n {copy}\n }} else {{\n {second}\n }}"), {"a3": "1", "a2": "random:1"}
    )
    assert [each.plan.variant for each in compiled.plans] == ["tma", "tma"]


REDUCING = 'variant = "auto", reduce = "add"'


def test_what_only_tma_can_do_is_refused_as_well():
    with pytest.raises(CompileError, match="a tensor that the host knows"):
        compile_text(kernel("select", "memref<16x64xf32>", is_store=True, attributes=REDUCING))


ASSUME = {
    "longer than the rank": ("{source_offsets = [1, 8, 8]}", "has 3 entries in 'source_offsets', more than the 2"),
    "longer than the tile's": ("{destination_offsets = [1, 1, 1]}", "3 entries in 'destination_offsets'"),
    "longer sizes": ("{global_sizes = [8, 8, 8]}", "3 entries in 'global_sizes'"),
    "longer strides": ("{global_strides = [8, 1, 1, 1]}", "4 entries in 'global_strides'"),
    "several base offsets": ("{global_offset = [8, 8]}", "must be a dictionary of divisors"),
    "one for several": ("{source_offsets = 8}", "must be a dictionary of divisors"),
    "not a number": ('{source_offsets = [1, "8"]}', "must be a dictionary of divisors"),
    "not whole": ("{global_strides = [8.0, 1]}", "must be a dictionary of divisors"),
    "a truth value": ("{source_offsets = [1, true]}", "must be a dictionary of divisors"),
    "zero": ("{global_sizes = [0, 8]}", "must be a dictionary of divisors"),
    "negative": ("{global_offset = -8}", "must be a dictionary of divisors"),
    "not a dictionary": ("[8]", "must be a dictionary of divisors"),
}


@pytest.mark.parametrize("name", ASSUME)
def test_a_wrong_assumption_is_a_located_error(name):
    value, message = ASSUME[name]
    with pytest.raises(CompileError, match=re.escape(message)) as error:
        compile_text(load("memref<?x?xf32>", (8, 32), element="f32", attributes=f"assume = {value}"))
    assert re.match(r".*:\d+:\d+: error: 'tile\.copy_async' op ", str(error.value))


@pytest.mark.parametrize("value", ["{source_offsets = [8]}", "{global_sizes = [1, 8], global_strides = [4]}",
                                   "{destination_offsets = [], global_offset = 4}"])  # fmt: skip
def test_a_shorter_assumption_says_nothing_of_the_rest(value):
    compile_text(load("memref<?x?xf32>", (8, 32), element="f32", attributes=f"assume = {value}"))
