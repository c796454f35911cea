"""Launches and simulations with any grid, block, stream, cluster, attribute and argument: rows of calls on one kernel.

The kernel copies a matrix tile by tile (examples/python/copy_tiles.mlir). Launches go to the driver of the runtime's
tests, which has no GPU. Right are a copy of what the grid covers, or one of the documented errors; never a launch with
numbers that no GPU takes.
"""

from __future__ import annotations

import importlib.util
import os
import random
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import arrays
from failure import Failure, of_exception
from tma_mlir.abi.parameters import parameter_sizes
from tma_mlir.compiled_kernel import CompiledKernel
from tma_mlir.runtime import RuntimeFault, driver, tensor_maps
from tma_mlir.sim.errors import SimulationError

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTED = (TypeError, ValueError, RuntimeFault, SimulationError)


@dataclass(frozen=True)
class Call:
    """``how``: ``simulate``, ``launch``, ``index``, ``bind``, ``call`` or ``unload``."""

    how: str
    grid: Any = None
    block: Any = None
    arguments: tuple[Any, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()


def cases(seed: int) -> tuple[Call, ...]:
    rng = random.Random(seed)
    return tuple(_call(rng) for _ in range(rng.randint(1, 4)))


def check(case: tuple[Call, ...]) -> Failure | None:
    kernel, fake = _kernel()
    if kernel.to_bytes() != _saved():
        return Failure("a call changed the kernel", repr(case))
    if any(call.how == "unload" for call in case):
        kernel = CompiledKernel(b"cubin", kernel.signature, chip=kernel.chip, source=kernel.source)
    for call in case:
        fake.launches.clear()
        try:
            wrong = _made(kernel, call)
        except OSError as error:
            wrong = "" if "trace" in dict(call.options) else f"{error}"
        except DOCUMENTED as error:
            wrong = "" if str(error) else f"an error without a text: {type(error).__name__}"
        except Exception as error:
            found = of_exception(error)
            return Failure(found.kind, f"{_shown(call)}\n{found.detail}")
        wrong = wrong or _wrong_launch(fake)
        if wrong:
            return Failure(wrong, _shown(call))
    return None


def _shown(call: Call) -> str:
    try:
        return repr(call)[:2000]
    except Exception:
        return f"{call.how} {call.grid} {call.block}"


def _made(kernel: CompiledKernel, call: Call) -> str:
    """Makes the call; what is wrong with its result."""
    options = dict(call.options)
    if call.how == "simulate":
        kernel.simulate(call.grid, call.block, *call.arguments, **options)
        return _wrong_copy(call)
    if call.how == "launch":
        kernel.launch(call.grid, call.block, *call.arguments, **options)
    elif call.how == "index":
        kernel[call.grid, call.block](*call.arguments)
    elif call.how == "bind":
        kernel.bind(call.grid, call.block, *call.arguments, **options)()
    elif call.how == "call":
        kernel(*call.arguments)
    elif call.how == "unload":
        kernel.unload()
    return ""


def _wrong_copy(call: Call) -> str:
    """After a simulation the second array is the first where the grid is."""
    if len(call.arguments) != 2 or not all(type(each) is np.ndarray for each in call.arguments):
        return ""
    source, target = call.arguments
    if not target.flags.writeable or np.may_share_memory(source, target):
        return ""
    extents = (*call.grid, 1, 1)[:2] if isinstance(call.grid, tuple | list) else (call.grid, 1)
    rows, columns = (min(e * 32, n, m) for e, n, m in zip(extents[::-1], source.shape, target.shape, strict=True))
    same = source[:rows, :columns].tobytes() == target[:rows, :columns].tobytes()
    return "" if same else "the simulated copy is wrong"


def _wrong_launch(fake: Any) -> str:
    for each in fake.launches:
        (x, y, z), block = each.grid, each.block
        if not (0 < x < 1 << 31 and 0 < y < 1 << 16 and 0 < z < 1 << 16):
            return "a grid that no GPU takes is launched"
        if not all(0 < b <= most for b, most in zip(block, (1024, 1024, 64), strict=True)) or np.prod(block) > 1024:
            return "a block that no GPU takes is launched"
        if type(each.shared) is not int or not 0 <= each.shared <= 232448:
            return "dynamic shared memory that no block has is launched with"
        if not 0 <= int(each.stream) < 1 << 64:
            return "a stream that is none is launched on"
        for attribute in each.attributes:
            cluster: Any = getattr(attribute.value, "clusterDim", None)
            if hasattr(cluster, "x") and not 1 <= cluster.x * cluster.y * cluster.z <= 16:
                return "a cluster that no GPU takes is launched"
    return ""


@cache
def _kernel() -> tuple[CompiledKernel, Any]:
    """The kernel and the driver under it, of this worker."""
    from tma_mlir.compile.compiler import compile_text

    name = str(ROOT / "examples/python/copy_tiles.mlir")
    text = Path(name).read_text()
    made = compile_text(text, "sm_90a", name=name, assemble_cubin=False)
    (signature,) = made.signatures.values()
    path = ROOT / "test/py/runtime/conftest.py"
    spec = importlib.util.spec_from_file_location("fake_driver", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    fake = module.FakeDriver([128] * len(signature.tensor_maps) + list(parameter_sizes(signature)))
    for home, attribute, value in (
        (driver, "cuda", lambda: fake),
        (driver, "tensor_map_calls", lambda: (fake.encode, fake.replace)),
        (tensor_maps, "CACHE", tensor_maps.DescriptorCache()),
    ):
        setattr(home, attribute, value)
    return CompiledKernel(b"cubin", signature, chip="sm_90a", source=text, source_name=name), fake


@cache
def _saved() -> bytes:
    return _kernel()[0].to_bytes()


def _call(rng: random.Random) -> Call:
    how = rng.choice(("simulate", "launch", "launch", "index", "index", "bind", "call"))
    if rng.random() < 0.03:
        return Call("unload")
    rows, columns = rng.choice((1, 3, 8, 32, 40)), 4 * rng.choice((1, 2, 8, 9))
    grid: Any = (-(-columns // 32), -(-rows // 32))
    block: Any = rng.choice((32, None, (32, 1, 1), [32]))
    given: list[Any] = [_matrix(rng, rows, columns), _matrix(rng, rows, columns)]
    options: dict[str, Any] = {}
    if rng.random() < 0.4:
        kind = rng.randrange(4)
        if kind == 0:
            grid = rng.choice((0, 1, (2, 2), (1, 0), *_EXTENTS))
        elif kind == 1:
            block = rng.choice((16, 33, 64, (32, 2), *_EXTENTS))
        elif kind == 2:
            given[rng.randrange(2)] = arrays.hostile(rng, readable=True)
        else:
            given = given[: rng.randrange(3)] + [1] * rng.choice((0, 0, 1))
    if how in ("launch", "bind") and rng.random() < 0.6:
        name = rng.choice(("stream", "cluster", "shared_memory", "attributes"))
        options[name] = rng.choice(_OPTIONS[name])
    if how == "simulate" and rng.random() < 0.4:
        name = rng.choice(("schedules", "check", "profile", "cluster", "trace"))
        options[name] = rng.choice(_SIMULATE[name])
    return Call(how, grid, block, tuple(given), tuple(options.items()))


_EXTENTS = (
    -1, 1 << 31, 1 << 40, (1, 65536), (1, 1, 65536), (1, 2, 3, 4), (), "x", "12", 1.5, (1.5, 2), (None,), {}, b"1",
    True, np.int64(1), np.array([1, 1]), np.array(1), (1, "1"), 1 << 70, (1, -1), object(), [[1]], {1}, range(1, 2),
    (32, 33), (np.int32(1), np.uint8(1)), (1, 1, 65), float("nan"), 10**5000,
)  # fmt: skip
_OPTIONS: dict[str, tuple[Any, ...]] = {
    "stream": (0, 1, 7, -1, 1 << 64, 1 << 70, "s", None, 1.5, object(), True, np.int64(3), [], arrays.Number(5)),
    "cluster": (1, (1, 1, 1), None, 2, 0, -1, 16, 17, "x", (1, 2, 3, 4), 1.5, (None,), 1 << 40),
    "shared_memory": (0, 1024, None, -1, 1 << 20, 1 << 31, 1 << 40, "x", 1.5, True, 232448, np.int64(8)),
    "attributes": (
        None, {}, {"cooperative": True}, {"priority": -1}, {"priority": "x"}, {"cooperative": "x"}, {"nonsense": 1}, 5,
        "x", [], [("priority", 1)], {1: 2}, {"priority": 1 << 40}, {"programmatic": None}, {"priority": 1.5}, object(),
    ),
}  # fmt: skip
_SIMULATE: dict[str, tuple[Any, ...]] = {
    "schedules": (1, 2, 0, -1, "x", 1.5, None, True),
    "check": (True, False, "all", "none", None, "x", 5),
    "profile": (True, False, None, "x"),
    "cluster": _OPTIONS["cluster"],
    "trace": (None, os.path.join(tempfile.gettempdir(), "tma_fuzz_trace.json"), "/nowhere/trace.json", 5, b"x", ""),
}


def _matrix(rng: random.Random, rows: int, columns: int) -> Any:
    pitch = columns + rng.choice((0, 0, 4, 4, 1))
    memory = np.frombuffer(bytearray(rng.randbytes(4 * rows * pitch + 256)), np.uint8)
    start = -memory.ctypes.data % 256 + rng.choice((0, 0, 0, 4))
    array = memory[start:][: 4 * rows * pitch - start % 4]
    array = array[: 4 * (len(array) // 4)].view(np.float32)
    array = np.lib.stride_tricks.as_strided(array, (max(1, len(array) // pitch), columns), (4 * pitch, 4))
    if rng.random() < 0.1:
        array.flags.writeable = False
    kind = rng.random()
    if kind < 0.1:
        return arrays.Exporter(rng, array, share=0.3, readable=True)
    return arrays.CudaArray(rng, array, share=0.3) if kind < 0.3 else array
