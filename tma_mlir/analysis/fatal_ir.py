"""IR that is valid and that MLIR 22 or LLVM 22 does not survive: each of these ends the process in an assertion, an
``exit`` or a loop of hours. Found by one walk, before a pass runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ..bindings import ir
from ..dialect.memrefs import has_bools, read_memref
from ..errors import TileError
from ..fatal_text import type_problem
from .ir_access import enclosing, function_inputs
from .launch_sizes import FUNCTIONS, LAUNCHES, function_size_errors, launch_size_errors
from .own_attributes import own_attribute_errors


def fatal_errors(root: ir.Operation) -> list[TileError]:
    """One error for each operation of ``root`` that would end the process, the first reason only."""
    errors: list[TileError] = []
    types: dict[ir.Type, tuple[str | None, str | None]] = {}

    everywhere = root.name == "gpu.module" or enclosing(root, "gpu.module") is not None

    def in_kernels(op: ir.Operation) -> bool:
        return everywhere or enclosing(op, "gpu.module") is not None

    def problems_of(type_: ir.Type) -> tuple[str | None, str | None]:
        """Why nothing can have the type, and why no result of an operation in a kernel can."""
        if type_ not in types:
            text = str(type_)
            types[type_] = _type_problem(text), _scalable_problem(text)
        return types[type_]

    def of_types(op: ir.Operation) -> Iterator[TileError]:
        found = [each.type for each in op.results]
        found += [each.type for region in op.regions for block in region.blocks for each in block.arguments]
        if op.name == "memref.global":
            found.append(ir.TypeAttr(op.attributes["type"]).value)
        for place, each in enumerate(found):
            problem, of_results = problems_of(each)
            # Of parameters the signature's own check says more.
            if of_results and place < len(op.results) and in_kernels(op):
                problem = problem or of_results
            if problem:
                yield TileError(op.location, f"'{op.name}' op has type {_short(str(each))}: {problem}")

    def visit(op: ir.Operation) -> ir.WalkResult:
        check = _CHECKS.get(op.name)
        if check and op.name not in _ANYWHERE and not in_kernels(op):
            check = None  # LLVM's own code, for the host, is not compiled here
        error = next(of_types(op), None) or (next(check(op), None) if check else None)
        error = error or next(own_attribute_errors(op), None)
        if error:
            errors.append(error)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return errors


MAX_VECTOR = 4096
"""Elements. LLVM takes a vector apart element by element, in time that grows with the square: 65,536 take minutes."""

_VECTOR = re.compile(r"(?:^|\W)vector<((?:\[?\d+\]?x)+)")
_SCALABLE = re.compile(r"\bvector<(?:\d+x)*(\[\d+\])")
_UNKNOWN_FLOATS = re.compile(r"\b(f80|ppc_fp128|x86_amx)\b")


def _type_problem(text: str) -> str | None:
    """Why values of a type cannot be."""
    problem = type_problem(text)
    if problem:
        return problem
    for found in _VECTOR.findall(text):
        *_, last = re.findall(r"\d+", found)
        if int(last) > MAX_VECTOR:
            return f"{last} elements in a row; at most {MAX_VECTOR} are compiled in reasonable time. Loop over parts"
    return None


def _scalable_problem(text: str) -> str | None:
    found = _SCALABLE.search(text)
    if found is None:
        return None
    return f"{found[1]} scalable elements; NVIDIA GPUs have vectors of fixed size. Take the brackets away"


def _short(text: str) -> str:
    return text if len(text) < 100 else text[:97] + "..."


Check = Callable[[ir.Operation], Iterator[TileError]]


def _function(op: ir.Operation) -> Iterator[TileError]:
    yield from _symbol(op)
    yield from function_size_errors(op)
    if op.name == "gpu.func":
        yield from _attributions(op)
    elif found := _UNKNOWN_FLOATS.search(str(op.attributes["function_type"])):
        yield TileError(op.location, f"'{op.name}' op takes or returns {found[1]}; NVIDIA GPUs have none. Use f64")
    if "arg_attrs" in op.attributes:
        for position, each in enumerate(ir.ArrayAttr(op.attributes["arg_attrs"])):
            arguments = ir.DictAttr(each)
            for name in ("llvm.align", "llvm.alignstack"):
                if name in arguments and isinstance(arguments[name], ir.IntegerAttr):
                    yield from _aligned(op, ir.IntegerAttr(arguments[name]).value, f"{name} of argument {position}")


def _attributions(function: ir.Operation) -> Iterator[TileError]:
    """Workgroup and private memory is reserved when the kernel is compiled."""
    blocks = list(function.regions[0].blocks)
    if not blocks:
        return
    for argument in list(blocks[0].arguments)[len(function_inputs(function)) :]:
        memref = read_memref(argument.type)
        if memref is not None and None in (*memref.shape, *memref.strides, memref.offset):
            yield TileError(
                function.location,
                f"'gpu.func' op reserves memory of type {argument.type}; needed: sizes, strides and offset that are "
                "known when it is compiled. Write numbers for '?'",
            )


MAX_NAME = 4096
"""Bytes of a symbol; nvJitLink 13.5 corrupts its memory at 100,000 and takes 70,000."""


_NOT_IN_NAMES = re.compile(rb"[^A-Za-z0-9_$.][\x80-\xbf]*")


def _is_public(op: ir.Operation) -> bool:
    """Whether LLVM keeps the name as it is; those of private symbols it mends."""
    visibility, linkage = (str(op.attributes[n]) if n in op.attributes else "" for n in ("sym_visibility", "linkage"))
    return visibility != '"private"' and not any(each in linkage for each in ("private", "internal"))


def _symbol(op: ir.Operation) -> Iterator[TileError]:
    name = ir.StringAttr(op.attributes["sym_name"]).value_bytes
    if b"\0" in name:
        yield TileError(op.location, f"'{op.name}' op has a name with a zero byte; LLVM's names have none. Rename it")
    elif (bad := _NOT_IN_NAMES.search(name)) and _is_public(op):
        message = (
            f"'{op.name}' op has the name {_short(name.decode(errors='replace'))!r}; PTX names are made of letters, "
        )
        message += f"digits, '_', '$' and '.', not {bad[0].decode(errors='replace')!r}. Rename it"
        yield TileError(op.location, message)
    if len(name) > MAX_NAME:
        message = f"'{op.name}' op has a name of {len(name)} bytes; assemblers take at most {MAX_NAME}. Shorten it"
        yield TileError(op.location, message)


_LLVM_MAX_ALIGNMENT = 2**32


def _aligned(op: ir.Operation, value: int, what: str) -> Iterator[TileError]:
    if value < 0 or value & (value - 1) or value > _LLVM_MAX_ALIGNMENT:
        yield TileError(op.location, f"'{op.name}' op has {what} = {value}; needed: a power of two, at most 2^32 bytes")


def _alignment(op: ir.Operation) -> Iterator[TileError]:
    if op.name in ("llvm.mlir.global", "memref.global"):
        yield from _symbol(op)
        yield from _address_space(op)
    if "alignment" in op.attributes and isinstance(op.attributes["alignment"], ir.IntegerAttr):
        yield from _aligned(op, ir.IntegerAttr(op.attributes["alignment"]).value, "alignment")


_SPACES = frozenset({0, 1, 3, 4, 5})
"""Of variables in PTX: generic, global, shared, constant and local memory."""


def _address_space(op: ir.Operation) -> Iterator[TileError]:
    """LLVM ends the process on a variable in a space that PTX does not have."""
    if op.name == "memref.global":
        space = ir.MemRefType(ir.TypeAttr(op.attributes["type"]).value).memory_space
    elif "addr_space" in op.attributes:
        space = op.attributes["addr_space"]
    else:
        return
    if isinstance(space, ir.IntegerAttr) and space.value not in _SPACES:
        message = f"'{op.name}' op is in address space {space.value}; needed: one of 0, 1, 3, 4, 5"
        yield TileError(op.location, f"{message}. Use 3 for shared memory")


GEP_LIMIT = 2**28
"""MLIR 22 keeps constant indices of ``llvm.getelementptr`` in 29 bits, with their sign."""
GEP_DYNAMIC = -(2**31)
"""``LLVM::GEPOp::kDynamicIndex``."""


def _constant_offset(op: ir.Operation) -> Iterator[TileError]:
    unknown = _NOT_IN_LLVM.search(str(op.attributes["elem_type"]))
    if unknown:
        message = f"'{op.name}' op steps over {unknown[0]}, which LLVM does not have. Use an integer of as many bits"
        yield TileError(op.location, message)
    for index in ir.DenseI32ArrayAttr(op.attributes["rawConstantIndices"]):
        if index != GEP_DYNAMIC and not -GEP_LIMIT <= index < GEP_LIMIT:
            yield TileError(
                op.location,
                f"'{op.name}' op has the constant index {index}; MLIR keeps those below 2^28. Pass it as a value: "
                "llvm.mlir.constant(... : i64)",
            )


_NOT_IN_LLVM = re.compile(r"\b(?:tf32|f\d+E\w+|index|none|complex<.*|memref<.*|tensor<.*)")


_OPERAND = re.compile(r"\$(?:(\$)|(\d+)|\{(\d+))")
_CONSTRAINT = re.compile(r"[=+&*%]*(?:[bhrlfdqcniImo]|\d+|\{[^}]*\}|~\{[^}]*\})")
"""NVPTX knows b, h, r, l, q, f, d and c for registers; n and i are constants, m memory."""


def _inline_asm(op: ir.Operation) -> Iterator[TileError]:
    text = ir.StringAttr(op.attributes["asm_string"]).value_bytes.decode(errors="replace")
    constraints = ir.StringAttr(op.attributes["constraints"]).value_bytes.decode(errors="replace")
    operands = [each for each in constraints.split(",") if each and not each.startswith("~")]
    for each in operands:
        if not _CONSTRAINT.fullmatch(each):
            message = f"'{op.name}' op has the constraint '{each}', which NVPTX does not have; needed: one of b, h, r,"
            yield TileError(op.location, f"{message} l, q, f, d, n or the number of an operand")
    for _, plain, braced in _OPERAND.findall(text):
        number = plain or braced
        if number and int(number) >= len(operands):
            yield TileError(
                op.location,
                f"'{op.name}' op names operand ${number}, and its constraints '{constraints}' have "
                f"{len(operands)}. Add a constraint, or write $$ for a dollar sign",
            )


def _wide_conversion(op: ir.Operation) -> Iterator[TileError]:
    """LLVM calls library functions for more, which GPUs do not have."""
    for type_ in (op.operands[0].type, op.results[0].type):
        if isinstance(type_, ir.IntegerType) and type_.width > 64:
            yield TileError(
                op.location,
                f"'{op.name}' op converts {type_}; NVIDIA GPUs convert at most 64 bits. Convert parts",
            )


def _bools(op: ir.Operation) -> Iterator[TileError]:
    """What ``tile-lower-bools`` does not lower."""
    for operand in op.operands:
        if has_bools(operand.type):
            message = f"'{op.name}' op accesses {operand.type}; MLIR takes bits, and a memref has a byte for each i1"
            yield TileError(op.location, f"{message}. Use memref.load and memref.store, or a memref of i8")


def _targets(op: ir.Operation) -> Iterator[TileError]:
    yield from _symbol(op)
    text = str(op.attributes["targets"]) if "targets" in op.attributes else ""
    for features in re.findall(r'\bfeatures = "([^"]*)"', text):
        wrong = [each for each in features.split(",") if each and each[0] not in "+-"]
        if wrong:
            message = f"'gpu.module' op has a target with the feature '{wrong[0]}'; features begin with + or -. Write"
            yield TileError(op.location, f"{message} +{wrong[0]}")


_ANYWHERE = frozenset({*LAUNCHES, "gpu.module"})

_WITH_ALIGNMENT = (
    *("llvm.load", "llvm.store", "llvm.alloca", "llvm.mlir.global"),
    *("memref.global", "memref.alloc", "memref.alloca", "memref.load", "memref.store", "vector.load", "vector.store"),
)

_CHECKS: dict[str, Check] = {
    **dict.fromkeys(FUNCTIONS, _function),
    **dict.fromkeys(LAUNCHES, launch_size_errors),
    **dict.fromkeys(_WITH_ALIGNMENT, _alignment),
    **dict.fromkeys(
        tuple(f"{d}.{n}" for d in ("arith", "llvm") for n in ("sitofp", "uitofp", "fptosi", "fptoui")), _wide_conversion
    ),
    **dict.fromkeys(
        (
            *("memref.atomic_rmw", "memref.generic_atomic_rmw", "vector.maskedload", "vector.maskedstore"),
            *("vector.gather", "vector.scatter", "vector.expandload", "vector.compressstore"),
        ),
        _bools,
    ),
    "llvm.getelementptr": _constant_offset,
    "llvm.inline_asm": _inline_asm,
    "gpu.module": _targets,
}
