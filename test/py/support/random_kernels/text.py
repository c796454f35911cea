"""MLIR text of one kernel body, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

Operand = int | str
"""A number, or the name of a value."""

DYNAMIC = -9223372036854775808
"""What stands for an operand in a static list of offsets, sizes or strides."""

SHARED = "#gpu.address_space<workgroup>"


class Writer:
    """Collects operations. Numbers become constants at the top of the kernel, one for each value and type."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._constants: dict[tuple[int, str], str] = {}
        self._depth = 3
        self._names = 0

    def line(self, text: str) -> None:
        self.lines.append("  " * self._depth + text)

    def number(self) -> int:
        """A number for a name, each once."""
        self._names += 1
        return self._names

    def let(self, text: str) -> str:
        """A new value, defined by ``text``."""
        name = f"%v{self.number()}"
        self.line(f"{name} = {text}")
        return name

    @contextmanager
    def block(self, header: str, end: str = "}") -> Iterator[None]:
        self.line(header + " {")
        self._depth += 1
        yield
        self._depth -= 1
        self.line(end)

    @contextmanager
    def when(self, condition: str | None) -> Iterator[None]:
        """What is written inside runs where ``condition`` holds; always for None."""
        if condition is None:
            yield
            return
        with self.block(f"scf.if {condition}"):
            yield

    @contextmanager
    def loop(self, first: Operand, end: Operand, step: Operand) -> Iterator[str]:
        name = f"%i{self.number()}"
        with self.block(f"scf.for {name} = {self.value(first)} to {self.value(end)} step {self.value(step)}"):
            yield name

    def value(self, operand: Operand, type_: str = "index") -> str:
        if isinstance(operand, str):
            return operand
        key = (operand, type_)
        if key not in self._constants:
            self._constants[key] = f"%k{len(self._constants)}"
        return self._constants[key]

    def constants(self) -> list[str]:
        return [
            f"      {name} = arith.constant {('false', 'true')[value] if type_ == 'i1' else f'{value} : {type_}'}"
            for (value, type_), name in self._constants.items()
        ]

    def add(self, a: Operand, b: Operand) -> Operand:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self.let(f"arith.addi {self.value(a)}, {self.value(b)} : index")

    def multiply(self, a: Operand, factor: int) -> Operand:
        if isinstance(a, int):
            return a * factor
        return a if factor == 1 else self.let(f"arith.muli {a}, {self.value(factor)} : index")

    def divide(self, a: Operand, divisor: int) -> Operand:
        if isinstance(a, int):
            return a // divisor
        return a if divisor == 1 else self.let(f"arith.divui {a}, {self.value(divisor)} : index")

    def remainder(self, a: Operand, divisor: int) -> Operand:
        if isinstance(a, int):
            return a % divisor
        return 0 if divisor == 1 else self.let(f"arith.remui {a}, {self.value(divisor)} : index")

    def compare(self, predicate: str, a: Operand, b: Operand) -> str:
        return self.let(f"arith.cmpi {predicate}, {self.value(a)}, {self.value(b)} : index")


def shared_memref(shape: Sequence[int], element: str) -> str:
    return f"memref<{'x'.join(map(str, shape))}x{element}, {SHARED}>"


def offset_list(offsets: Sequence[Operand]) -> str:
    return "array<i64: " + ", ".join(str(each if isinstance(each, int) else DYNAMIC) for each in offsets) + ">"


def dynamic(offsets: Sequence[Operand]) -> list[str]:
    return [each for each in offsets if isinstance(each, str)]
