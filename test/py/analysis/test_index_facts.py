"""Bounds and divisors read off the IR are never stronger than what the IR says."""

import itertools

import pytest

from tma_mlir.analysis.index_facts import facts_of
from tma_mlir.analysis.integer_facts import BINARY, Facts, both, either, known
from tma_mlir.bindings import ir

HALO = """%o = arith.muli %bx, %c64 : index
      %x = arith.subi %o, %c2 : index
      """


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
        ('"test.use"(%c64) : (index) -> ()', known(64)),
        ('"test.use"(%n) : (index) -> ()', Facts()),
        ('"test.use"(%bx) : (index) -> ()', Facts(0, 3)),
        ('%x = gpu.thread_id x\n"test.use"(%x) : (index) -> ()', Facts(0, 127)),
        ('%x = gpu.block_dim x\n"test.use"(%x) : (index) -> ()', known(128)),
        ('%x = arith.muli %bx, %c64 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 192, 64)),
        ('%x = arith.muli %n, %c64 : index\n"test.use"(%x) : (index) -> ()', Facts(divisor=64)),
        ('%x = arith.subi %c64, %bx : index\n"test.use"(%x) : (index) -> ()', Facts(61, 64)),
        ('%x = arith.shli %bx, %c2 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 12, 4)),
        ('%x = arith.remui %bx, %c2 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 1)),
        ('%x = arith.remui %n, %c64 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 63)),
        ('%x = arith.minui %n, %c64 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 64)),
        ('%x = arith.remsi %n, %c2 : index\n"test.use"(%x) : (index) -> ()', Facts(-1, 1)),
        ('%x = arith.divui %bx, %c2 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 1)),
        ('%x = arith.minui %bx, %c2 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 2)),
        ('%x = arith.index_cast %i : i32 to index\n"test.use"(%x) : (index) -> ()', Facts()),
        ('scf.for %x = %c0 to %c64 step %c2 { "test.use"(%x) : (index) -> () }', Facts(0, 62, 2)),
        ('scf.for %x = %c2 to %n step %c64 { "test.use"(%x) : (index) -> () }', Facts(2, None, 64, 2)),
        (
            '%x = affine.apply affine_map<(d0)[s0] -> (d0 * 16 + s0 * 8)>(%bx)[%n]\n"test.use"(%x) : (index) -> ()',
            Facts(divisor=8),
        ),
        ('%x = affine.apply affine_map<(d0) -> (d0 mod 2)>(%bx)\n"test.use"(%x) : (index) -> ()', Facts(0, 1)),
        ('%x = gpu.thread_id y\n"test.use"(%x) : (index) -> ()', known(0)),
        ('%x = gpu.lane_id\n"test.use"(%x) : (index) -> ()', Facts(0, 31)),
        # A start with a halo: 64 * block - 2, and one more step of it.
        (f'{HALO}"test.use"(%x) : (index) -> ()', Facts(-2, 190, 64, 62)),
        (f'{HALO}%y = arith.addi %x, %c64 : index\n"test.use"(%y) : (index) -> ()', Facts(62, 254, 64, 62)),
        (f'{HALO}%y = arith.muli %x, %x : index\n"test.use"(%y) : (index) -> ()', Facts(-380, 36100, 128, 4)),
        (f'{HALO}%y = arith.floordivsi %x, %c64 : index\n"test.use"(%y) : (index) -> ()', Facts(-1, 2)),
        (f'{HALO}%y = arith.remsi %x, %c64 : index\n"test.use"(%y) : (index) -> ()', Facts(-2, 62, 64, 62)),
        (f'{HALO}%y = arith.maxsi %x, %c0 : index\n"test.use"(%y) : (index) -> ()', Facts(0, 190, 2)),
        # Quotients and remainders by a number of the kernel's own: division by 0 does not happen.
        ('%x = arith.divui %bx, %n : index\n"test.use"(%x) : (index) -> ()', Facts(0, 3)),
        ('%x = arith.remui %bx, %n : index\n"test.use"(%x) : (index) -> ()', Facts(0, 3)),
        ('%x = arith.divsi %bx, %n : index\n"test.use"(%x) : (index) -> ()', Facts()),
        ('%x = arith.divui %n, %c2 : index\n"test.use"(%x) : (index) -> ()', Facts(0)),
        ('%x = arith.ceildivui %bx, %c2 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 2)),
        ('%x = arith.ceildivsi %n, %c2 : index\n"test.use"(%x) : (index) -> ()', Facts()),
        ('%x = index.maxu %bx, %c2\n"test.use"(%x) : (index) -> ()', Facts(2, 3)),
        ('%x = index.shru %n, %c2\n"test.use"(%x) : (index) -> ()', Facts(0)),
        ('%x = arith.shrui %bx, %c2 : index\n"test.use"(%x) : (index) -> ()', known(0)),
        ('%x = arith.andi %n, %c64 : index\n"test.use"(%x) : (index) -> ()', Facts(0, 64, 64)),
        (
            '%m = arith.constant -16 : index\n%x = arith.andi %n, %m : index\n"test.use"(%x) : (index) -> ()',
            Facts(None, None, 16),
        ),
        (
            '%m = arith.constant 15 : index\n%x = arith.andi %n, %m : index\n"test.use"(%x) : (index) -> ()',
            Facts(0, 15),
        ),
        (
            '%a = arith.muli %n, %c64 : index\n%x = arith.ori %a, %c2 : index\n"test.use"(%x) : (index) -> ()',
            Facts(None, None, 64, 2),
        ),
        (
            "%c = arith.cmpi slt, %n, %c0 : index\n%x = arith.select %c, %bx, %c64 : index\n"
            '"test.use"(%x) : (index) -> ()',
            Facts(0, 64),
        ),
        (
            "%c = arith.cmpi slt, %n, %c0 : index\n%x = scf.if %c -> index { scf.yield %c2 : index } else "
            '{ scf.yield %c64 : index }\n"test.use"(%x) : (index) -> ()',
            Facts(2, 64, 62, 2),
        ),
        ('%x = arith.subi %bx, %n overflow<nuw> : index\n"test.use"(%x) : (index) -> ()', Facts(0, 3)),
        ('%x = arith.muli %n, %c64 overflow<nsw, nuw> : index\n"test.use"(%x) : (index) -> ()', Facts(0, None, 64)),
        ('%x = arith.muli %n, %c64 overflow<nsw> : index\n"test.use"(%x) : (index) -> ()', Facts(None, None, 64)),
        ('%x = arith.index_castui %i : i32 to index\n"test.use"(%x) : (index) -> ()', Facts(0, (1 << 32) - 1)),
        ('%x = arith.trunci %i : i32 to i8\n"test.use"(%x) : (i8) -> ()', Facts(-128, 127)),
        (
            "%m = memref.alloca() : memref<5x7xf32, 5>\n%x = memref.dim %m, %c0 : memref<5x7xf32, 5>\n"
            '"test.use"(%x) : (index) -> ()',
            known(5),
        ),
        ('affine.for %x = 3 to 50 step 8 { "test.use"(%x) : (index) -> () }', Facts(3, 43, 8, 3)),
        ('%x = affine.min affine_map<(d0) -> (d0 * 8, 16)>(%bx)\n"test.use"(%x) : (index) -> ()', Facts(0, 16, 8)),
        ('%x = affine.max affine_map<(d0) -> (d0 * 8, 4)>(%bx)\n"test.use"(%x) : (index) -> ()', Facts(4, 24, 4)),
        ('%x = affine.apply affine_map<(d0) -> (d0 ceildiv 2)>(%bx)\n"test.use"(%x) : (index) -> ()', Facts(0, 2)),
        (
            '%x:2 = affine.delinearize_index %bx into (2, 2) : index, index\n"test.use"(%x#1) : (index) -> ()',
            Facts(0, 1),
        ),
        ('%x = nvvm.read.ptx.sreg.ctaid.y : i32\n"test.use"(%x) : (i32) -> ()', Facts(0, 65534)),
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
            assert value % fact.divisor == fact.residue if fact.divisor else value == fact.residue


def quotient(a: int, b: int) -> int:
    """Rounded to 0, as C divides."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def unsigned(operation):
    """``operation`` on the same bits without a sign, its result read with one."""

    def apply(a: int, b: int) -> int:
        result = operation(a % (1 << 64), b % (1 << 64)) % (1 << 64)
        return result - (1 << 64 if result >> 63 else 0)

    return apply


MEANINGS = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": quotient,
    "divui": unsigned(lambda a, b: a // b),
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b),
    "ceildivui": unsigned(lambda a, b: -(-a // b)),
    "remsi": lambda a, b: a - quotient(a, b) * b,
    "remui": unsigned(lambda a, b: a % b),
    "shli": lambda a, b: a << b,
    "shrsi": lambda a, b: a >> b,
    "shrui": unsigned(lambda a, b: a >> b),
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "minsi": min,
    "maxsi": max,
    "minui": unsigned(min),
    "maxui": unsigned(max),
}
ANY = [
    Facts(), Facts(0), Facts(None, 5), Facts(-6, 6), Facts(1, 6), Facts(None, None, 4, 3), Facts(-5, 7, 4, 3),
    Facts(0, None, 3, 1), Facts(2, 8, 6, 2), known(0), known(3), known(4), known(-4), known(7), known(-7),
]  # fmt: skip


def numbers(fact: Facts) -> list[int]:
    return [n for n in range(-9, 10) if holds(fact, n)]


def holds(fact: Facts, value: int) -> bool:
    if (fact.low is not None and value < fact.low) or (fact.high is not None and value > fact.high):
        return False
    return value == fact.residue if fact.divisor == 0 else value % fact.divisor == fact.residue


@pytest.mark.parametrize("name", BINARY)
def test_arithmetic_on_facts_is_right_for_all_numbers(name):
    """Every pair of small numbers that two facts allow: the operation's result satisfies what is said of it."""
    meaning = MEANINGS.get(name) or MEANINGS[f"{name}i"]  # divs and add of the index dialect are divsi and addi
    divides, shifts = "div" in name or "rem" in name, name.startswith("sh")
    for a, b in itertools.product(ANY, ANY):
        found = BINARY[name](a, b)
        for left, right in itertools.product(numbers(a), numbers(b)):
            if (divides and right == 0) or (shifts and right < 0):
                continue
            assert holds(found, meaning(left, right)), (a, b, left, right, found)


@pytest.mark.parametrize("combine", [both, either])
def test_joining_and_narrowing_are_right_for_all_numbers(combine):
    for a, b in itertools.product(ANY, ANY):
        found, in_both = combine(a, b), set(numbers(a)) & set(numbers(b))
        for value in in_both if combine is both else {*numbers(a), *numbers(b)}:
            assert holds(found, value), (a, b, value, found)
        if combine is both and found.is_empty:
            assert not in_both
