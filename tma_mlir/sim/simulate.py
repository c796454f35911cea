"""Run a lowered kernel without a GPU: ``simulate(module, signature, arguments, grid, block, cluster)``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..abi import scalars
from ..abi import values as by_value
from ..abi.conditions import check_failures
from ..abi.extents import Extent, promised, promised_cluster
from ..abi.parameters import parameter_words, pointer_of
from ..abi.signature import (
    MAY_STORE_NOTHING,
    Argument,
    KernelSignature,
    MemRefArgument,
    PointerArgument,
    TensorMapArgument,
    ValueArgument,
)
from ..abi.symbols import symbol_values
from ..abi.tensor_maps import evaluated
from ..abi.types import Type
from ..chips import DEFAULT_CHIP, shared_bytes
from ..hardware import DESCRIPTOR_BYTES
from . import (  # noqa: F401
    ops_barrier,
    ops_bulk,
    ops_descriptor,
    ops_float,
    ops_integer,
    ops_llvm,
    ops_memory,
    ops_mma,
    ops_nvvm,
    ops_tma,
    ops_vector,
    ops_wgmma,
)
from .accesses import AccessLog
from .compile import Kernel, compile_function
from .engine import BoundTensorMap, TmaFault
from .errors import Finding, SimulationError, UnsupportedError
from .global_shadow import GlobalShadow
from .host import HostArray, host_array, host_memory
from .machine import Cluster, Machine
from .memory import PARAMETER_BASE, SHARED_RESERVED, GlobalMemory
from .profile import Profile
from .program import Global, Module, inline_calls
from .progress import MOST_STEPS
from .ptx import replace_inline_ptx
from .scheduler import run_grid
from .shadow import SharedShadow
from .stores import written_parameters
from .trace import Trace

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Issued:
    """Bulk copy instructions of one place: ``what`` they do, how many were executed, and their bytes together (those of
    every CTA of a multicast)."""

    location: str
    what: str
    count: int
    bytes: int


@dataclass
class SimulationResult:
    """What a run reports besides its effect on the arrays.

    ``findings`` are warnings (errors raise). ``transfers``/``transfer_bytes``: bulk copies completed, by place in
    ``issued``. ``steps``: program segments executed, the simulator's unit of time. ``profile`` and ``trace`` if they
    were asked for.
    """

    findings: tuple[Finding, ...]
    transfers: int
    transfer_bytes: int
    steps: int
    issued: tuple[Issued, ...] = ()
    profile: Profile | None = None
    trace: Trace | None = None


@dataclass
class Program:
    """A module ready to run: decoded once, run many times."""

    kernel: Kernel
    shared_layout: dict[str, tuple[int, int]]
    shared_bytes: int
    static_shared_bytes: int
    memory_globals: list[tuple[Global, int]] = field(default_factory=list)
    written: frozenset[int] | None = None
    """Parameters that the kernel may write to, see ``written_parameters``."""


def load_program(module: Any, name: str | None, dynamic_shared_bytes: int = 0, chip: str = DEFAULT_CHIP) -> Program:
    """Decode ``module`` (``ir.Module`` or text) and compile its kernel ``name`` (the only one if None).

    ``chip`` limits shared memory: more than its blocks can have is a ``SimulationError``.
    """
    from .decode import decode_module  # it needs MLIR, and a command line that is wrong does not

    decoded = decode_module(module, name)
    if name is None:
        kernels = [f.name for f in decoded.functions.values() if f.blocks and "nvvm.kernel" in f.attributes]
        if len(kernels) != 1:
            raise SimulationError("invalid module", f"name the kernel to run; the module has {kernels or 'none'}")
        name = kernels[0]
    function = decoded.functions[name]
    if not function.blocks:
        raise SimulationError("invalid module", f"@{name} has no body", function.location)
    layout, end, static_end = place_shared(decoded, dynamic_shared_bytes, chip)
    symbols = {symbol: start for symbol, (start, _) in layout.items()}
    constants = _place_constants(decoded, symbols)
    function = replace_inline_ptx(inline_calls(decoded, function))
    kernel = compile_function(decoded, function, symbols)
    return Program(kernel, layout, end, static_end, constants, written_parameters(function))


def place_shared(
    module: Module, dynamic_bytes: int, chip: str = DEFAULT_CHIP
) -> tuple[dict[str, tuple[int, int]], int, int]:
    """Addresses of shared variables as ptxas gives them: static ones in order, then dynamic shared memory.

    Returns name -> (address, bytes), the end, and the end of the static part. A dynamic array that is not ``external``
    is placed first by ptxas, over the static variables: that is an error.
    """
    variables = [g for g in module.globals.values() if g.space == 3]
    static = [g for g in variables if g.type.size > 0]
    dynamic = [g for g in variables if g.type.size == 0]
    layout: dict[str, tuple[int, int]] = {}
    at = SHARED_RESERVED
    for variable in static:
        at = -(-at // variable.alignment) * variable.alignment
        layout[variable.name] = (at, variable.type.size)
        at += variable.type.size
    static_end = at
    if dynamic and static and dynamic_bytes and not all(v.external for v in dynamic):
        bad = next(v for v in dynamic if not v.external)
        raise SimulationError(
            "shared memory overlap",
            f"dynamic shared memory @{bad.name} is not external: ptxas places it over the static variables "
            f"({', '.join('@' + v.name for v in static)}). Give it external linkage and an alignment",
            bad.location,
        )
    for variable in dynamic:
        start = -(-at // variable.alignment) * variable.alignment
        layout[variable.name] = (start, dynamic_bytes)
        static_end = max(static_end, start)
    end = static_end + dynamic_bytes if dynamic else static_end
    most = shared_bytes(chip)
    if end - SHARED_RESERVED > most:
        raise SimulationError(
            "too much shared memory",
            f"the kernel needs {end - SHARED_RESERVED} B of shared memory, a block on {chip} has at most {most}",
        )
    return layout, -(-max(end, SHARED_RESERVED + 16) // 16) * 16, static_end


def _place_constants(module: Module, symbols: dict[str, int]) -> list[tuple[Global, int]]:
    memory = GlobalMemory()
    placed = []
    for variable in module.globals.values():
        if variable.space != 3:
            region = memory.add(variable.name, np.zeros(max(1, variable.type.size), np.uint8))
            symbols[variable.name] = region.base
            placed.append((variable, region.base))
    return placed


def simulate(
    module: Any,
    signature: KernelSignature,
    arguments: Sequence[Any],
    grid: Extent = None,
    block: Extent = None,
    cluster: Extent = None,
    *,
    schedule_seed: int = 0,
    checks: bool | str = True,
    profile: bool = False,
    trace: bool = False,
    progress: Callable[[int, int], None] | None = None,
    max_steps: int | None = None,
    program: Program | None = None,
    chip: str = DEFAULT_CHIP,
) -> SimulationResult:
    """Execute the kernel ``signature`` describes on NumPy ``arguments``; arrays are changed in place.

    ``module``: the lowered module (``ir.Module`` or text), ignored when a ``program`` of ``load_program`` is given.
    ``checks``: False or ``"none"`` runs without hazard checks (faults, bounds of global memory and deadlocks are always
    reported). ``schedule_seed``: 0 runs warps in order and completes copies as late as possible; others are random.
    Grid, block and cluster: one to three extents, x first, or None for what the module says (a grid it does not say is
    one block); others than it says are refused, and nothing runs on a grid without blocks. ``progress(done, total)`` is
    called after each cluster. ``max_steps``: segments that may run before the run counts as endless, 10^10 if None.
    ``chip``: the one whose shared memory a block has. Raises ``SimulationError`` on the first error.
    """
    if program is None:
        program = load_program(module, signature.name, signature.dynamic_shared_bytes, chip)
    kernel = program.kernel
    grid3, block3, cluster3 = _launch(kernel, signature, grid, block, cluster)
    if 0 in grid3:
        return SimulationResult((), 0, 0, 0)
    machine, values = _bind(program, signature, arguments, grid3, block3, cluster3)
    machine.random = None if schedule_seed == 0 else np.random.default_rng(schedule_seed)
    machine.check = checks is True or (isinstance(checks, str) and checks != "none")
    machine.profile = Profile(kernel) if profile else None
    machine.trace = Trace(machine) if trace else None
    if machine.check:
        _watch_stores(machine, program, values)

    def prepare(cluster: Cluster) -> None:
        for cta in cluster.ctas:
            if machine.check:
                cta.shared.shadow = SharedShadow(cta)
            for w in cta.warps:
                for register, value in zip(kernel.arguments, values, strict=True):
                    w.registers[register] = value

    with np.errstate(all="ignore"):
        run_grid(machine, prepare, progress, MOST_STEPS if max_steps is None else max_steps)
    _report_elections(machine)
    if machine.bulk_waits and not kernel.stores and MAY_STORE_NOTHING not in kernel.attributes:
        machine.warn(
            "nothing stored",
            "the kernel waits for bulk groups, but nothing in it stores to global memory: is the store still in the "
            "lowered module?",
            next(iter(machine.bulk_waits)),
        )
    return SimulationResult(
        tuple(machine.findings.values()),
        machine.transfers,
        machine.transfer_bytes,
        machine.steps,
        tuple(Issued(*key, *counts) for key, counts in machine.issued.items()),
        machine.profile,
        machine.trace,
    )


def _watch_stores(machine: Machine, program: Program, values: list[Any]) -> None:
    """Race checks for the arrays that the kernel may write; those it only reads need none."""
    log = AccessLog(shared=False)
    regions = list(machine.memory.regions)
    if program.written is not None and all(isinstance(values[number], int) for number in program.written):
        addresses = [values[number] for number in program.written]
        maps = machine.descriptors
        found = [machine.memory.find(maps[each].address if each in maps else each) for each in addresses]
        regions = [*regions[: len(program.memory_globals)], *(region for region in found if region is not None)]
    for region in regions:
        if region.kind == "global":
            region.watch = GlobalShadow(region, log)


def _known(kernel: Kernel, name: str) -> Shape | None:
    value = kernel.attributes.get(name)
    return tuple(value) if isinstance(value, list) and any(value) else None  # type: ignore[return-value]


MOST_BLOCKS = 1 << 24
"""A block takes a millisecond at least: these, hours."""


def _launch(
    kernel: Kernel, signature: KernelSignature, grid: Extent, block: Extent, cluster: Extent
) -> tuple[Shape, Shape, Shape]:
    """Grid, block and cluster, checked as a launch on a GPU checks them."""
    name = signature.name
    try:
        known = signature.grid or _known(kernel, "gpu.known_grid_size")
        grid3 = promised("grid", 1 if grid is None and known is None else grid, known, name)
        known = signature.block or _known(kernel, "gpu.known_block_size") or _known(kernel, "nvvm.maxntid")
        block3 = promised("block", block, known, name)
        known = signature.cluster or _known(kernel, "nvvm.cluster_dim")
        cluster3 = promised_cluster(cluster, known, grid3, name) or (1, 1, 1)
    except (TypeError, ValueError) as error:
        raise SimulationError("launch", str(error)) from None
    threads = math.prod(block3)
    if threads > 1024:
        raise SimulationError("launch", f"a block of {threads} threads; legal are 1..1024")
    if math.prod(grid3) > MOST_BLOCKS:
        raise SimulationError(
            "launch",
            f"a grid of {math.prod(grid3)} blocks, which take days one by one; at most {MOST_BLOCKS} are simulated. "
            "Simulate a part of it: a smaller grid",
        )
    if math.prod(cluster3) > 16:
        raise SimulationError("launch", f"cluster {cluster3} has more than 16 CTAs")
    return grid3, block3, cluster3


def _bind(
    program: Program, signature: KernelSignature, arguments: Sequence[Any], grid: Shape, block: Shape, cluster: Shape
) -> tuple[Machine, list[Any]]:
    """Memory, descriptors and the values of the kernel's parameters."""
    if len(arguments) != len(signature.arguments):
        raise SimulationError(
            "arguments", f"@{signature.name} takes {len(signature.arguments)} arguments, {len(arguments)} were given"
        )
    memory = GlobalMemory()
    for variable, address in program.memory_globals:
        data = np.zeros(max(1, variable.type.size), np.uint8)
        if variable.value is not None:
            data[: len(variable.value)] = np.frombuffer(variable.value, np.uint8)[: data.size]
        region = memory.add(variable.name, data, "constant" if variable.space == 4 else "global")
        assert region.base == address
    bound = [
        _bound(memory, index, spec, value)
        for index, (spec, value) in enumerate(zip(signature.arguments, arguments, strict=True))
    ]
    symbols = symbol_values(signature, bound)
    descriptors: dict[int, BoundTensorMap] = {}
    values: list[int | bytes] = []
    for index, wanted in enumerate(signature.tensor_maps):
        address = PARAMETER_BASE + DESCRIPTOR_BYTES * index
        descriptors[address] = _descriptor(index, wanted, signature.arguments[wanted.argument],
                                           bound[wanted.argument], symbols)  # fmt: skip
        values.append(address)
    for spec, value in zip(signature.arguments, bound, strict=True):
        if isinstance(value, bytes):
            values.append(value)
        elif isinstance(spec, MemRefArgument):
            values += parameter_words(spec, value, signature.bare_pointers)
        else:
            values.append(value.pointer)
    types = program.kernel.argument_types
    if len(values) != len(types):
        raise SimulationError(
            "arguments", f"@{signature.name} has {len(types)} parameters, the signature describes {len(values)}"
        )
    machine = Machine(
        kernel=program.kernel,
        memory=memory,
        descriptors=descriptors,
        parameters=ops_descriptor.parameter_bytes(len(descriptors)),
        made_descriptors={(0, number): each for number, each in enumerate(descriptors.values())},
        grid=grid,
        block=block,
        cluster_shape=cluster,
        threads=block[0] * block[1] * block[2],
        shared_layout=program.shared_layout,
        shared_bytes=program.shared_bytes,
        dynamic_shared_bytes=signature.dynamic_shared_bytes,
        random=None,
    )
    return machine, [_parameter(kind, value) for kind, value in zip(types, values, strict=True)]


def _bound(memory: GlobalMemory, index: int, spec: Argument, value: Any) -> HostArray | bytes:
    """Argument ``index`` as it is passed."""
    if isinstance(spec, MemRefArgument):
        return host_array(memory, index, spec, value)
    if isinstance(spec, PointerArgument):
        return host_memory(memory, index, value)
    try:
        if isinstance(spec, ValueArgument):
            return by_value.to_bytes(value, spec.layout)
        return scalars.to_bytes(value, spec.dtype)
    except TypeError as error:
        raise SimulationError("arguments", f"argument {index}: {error}") from None


def _descriptor(
    index: int,
    wanted: TensorMapArgument,
    spec: Argument,
    tensor: HostArray | bytes,
    symbols: Mapping[str, int],
) -> BoundTensorMap:
    """Descriptor ``index``, after the host's checks."""
    if isinstance(tensor, bytes) or not isinstance(spec, MemRefArgument):
        raise SimulationError("arguments", f"tensor map {index} is of argument {wanted.argument}, which is no tensor")
    try:
        failures = check_failures(wanted.checks, symbols)
        plain = evaluated(wanted, symbols)
    except KeyError as error:
        raise SimulationError("arguments", f"a tensor map depends on {error}, which no argument gives") from None
    if failures:
        raise SimulationError("host check", f"tensor map {index}: {failures[0]}")
    try:
        return BoundTensorMap(plain, pointer_of(spec, tensor) + int(plain.base_offset_bytes))  # type: ignore[arg-type]
    except TmaFault as error:
        raise SimulationError(error.fault, f"tensor map {index}: {error.message}") from None


def _parameter(kind: Type, value: int | bytes) -> Any:
    """A parameter as registers hold it."""
    if isinstance(value, bytes):
        if kind.kind == "float":
            return np.frombuffer(value, kind.dtype, 1)[0]
        if kind.kind == "vector":
            if kind.dtype == object:
                raise UnsupportedError(f"a parameter that is a vector of {kind.element.name}")
            return np.frombuffer(value, kind.dtype, kind.count).reshape(kind.count, 1)
        if kind.is_aggregate:
            parts = kind.fields if kind.kind == "struct" else kind.fields * kind.count
            steps = range(0, kind.size, kind.element.stride) if kind.kind == "array" else kind.offsets
            return tuple(_parameter(part, value[at : at + part.size]) for part, at in zip(parts, steps, strict=True))
        value = int.from_bytes(value, "little")
    if kind.kind == "int" and kind.bits == 1:
        return bool(value)
    half = 1 << (kind.bits - 1)
    return ((value + half) & ((1 << kind.bits) - 1)) - half


def _report_elections(machine: Machine) -> None:
    """Conditions on an elected lane that no warp ever satisfied although other lanes would have."""
    for place, entry in machine.taken.items():
        if entry is None:
            continue
        who, (leader, elected_at) = entry
        raise SimulationError(
            "elected lane excluded",
            f"what depends on this condition is never executed: lane {leader}, elected for {who}, is not among the "
            "lanes that the rest of the condition selects. Elect within the active lanes (member mask), or "
            "choose the leader by thread number",
            place,
            (("elected here", elected_at),),
        )
