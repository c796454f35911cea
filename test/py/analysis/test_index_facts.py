"""Bounds and divisors read off the IR are never stronger than what the IR says."""

import itertools

import pytest
from mlir import ir

from tma_mlir.analysis.index_facts import Facts, facts_of


def facts(body: str, names: int = 1) -> list[Facts]:
    """Facts of the values that ``test.use`` is given."""
    context = ir.Context()
    context.allow_unregistered_dialects = True
    found: list[Facts] = []
    text = f"""gpu.module @m {{ gpu.func @f(%n: index, %i: i32) kernel
        attributes {{known_grid_size = array<i32: 4, 2, 1>, known_block_size = array<i32: 128, 1, 1>}} {{
      %c2 = arith.constant 2 : index
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %bx = gpu.block_id x
      {body}
      gpu.return }} }}"""
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)

        def visit(op):
            if op.name == "test.use":
                found.extend(facts_of(operand) for operand in op.operands)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit)
    assert len(found) == names
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('"test.use"(%c64) : (index) -> ()', Facts(64, 64, 64)),
        ('"test.use"(%n) : (index) -> ()', Facts()),
        ('"test.use"(%bx) : (index) -> ()', Facts(0, 3)),
        ('%x = gpu.thread_id x\n"test.use"(%x) : (index) -> ()', Facts(0, 127)),
        ('%x = gpu.block_dim x\n"test.use"(%x) : (index) -> ()', Facts(128, 128, 128)),
        ('%x = arith.muli %bx, %c64 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 192, 64)),
        ('%x = arith.muli %n, %c64 : index\n"test.use"(%x) : (index) -> ()', Facts(divisor=64)),
        ('%x = arith.subi %c64, %bx : index\n"test.use"(%x) : (index) -> ()', Facts(61, 64)),
        ('%x = arith.shli %bx, %c2 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 12, 4)),
        ('%x = arith.remui %bx, %c2 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 1)),
        ('%x = arith.remui %n, %c64 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 63)),
        ('%x = arith.minui %n, %c64 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 64)),
        ('%x = arith.remsi %n, %c2 : index\n"test.use"(%x) : (index) -> ()', Facts()),
        ('%x = arith.divui %bx, %c2 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 1)),
        ('%x = arith.minui %bx, %c2 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 2)),
        ('%x = arith.index_cast %i : i32 to index\n"test.use"(%x) : (index) -> ()', Facts()),
        ('scf.for %x = %c0 to %c64 step %c2 { "test.use"(%x) : (index) -> () }', Facts(0, 63, 2)),
        ('scf.for %x = %c2 to %n step %c64 { "test.use"(%x) : (index) -> () }', Facts(2, None, 2)),
        (
            '%x = affine.apply affine_map<(d0)[s0] -> (d0 * 16 + s0 * 8)>(%bx)[%n]\n"test.use"(%x) : (index) -> ()',
            Facts(divisor=8),
        ),
        ('%x = affine.apply affine_map<(d0) -> (d0 mod 2)>(%bx)\n"test.use"(%x) : (index) -> ()', Facts(0, 1)),
    ],
)
def test_facts(body, expected):
    assert facts(body) == [expected]


def test_every_value_of_an_expression_satisfies_its_facts():
    body = """
      %by = gpu.block_id y
      %a = arith.muli %bx, %c64 : index
      %b = arith.addi %a, %by : index
      %c = arith.divui %b, %c2 : index
      %d = arith.subi %c, %a : index
      %e = arith.maxsi %d, %by : index
      "test.use"(%a, %b, %c, %d, %e) : (index, index, index, index, index) -> ()"""
    known = facts(body, 5)
    for x, y in itertools.product(range(4), range(2)):
        a = x * 64
        b = a + y
        c = b // 2
        d = c - a
        for value, fact in zip((a, b, c, d, max(d, y)), known, strict=True):
            assert fact.low is None or fact.low <= value
            assert fact.high is None or value <= fact.high
            assert value % fact.divisor == 0
