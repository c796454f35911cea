"""The public API with arguments of any kind, in rows of calls, from inside callbacks, and with what is no longer valid.

Right are results or the documented exceptions: ``TypeError``, ``ValueError`` (with ``PipelineError``), ``OSError`` for
files, MLIR's ``MLIRError``, and the package's own. Never another exception, a hang, or the end of the process.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from failure import Failure, of_exception

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ("copy_8x256", "load_f32", "store_tile", "load_rank3")
PIPELINE = "builtin.module(tile-verify,tile-plan-copies,convert-tile-to-nvgpu)"


@dataclass(frozen=True)
class Case:
    """``calls``: names of ``_CALLS``, each with the seed of its own choices."""

    calls: tuple[tuple[str, int], ...]


def cases(seed: int) -> Case:
    rng = random.Random(seed)
    return Case(tuple((rng.choice(list(_CALLS)), rng.randrange(1 << 30)) for _ in range(rng.randint(1, 4))))


def check(case: Case) -> Failure | None:
    _KEPT.clear()
    for name, seed in case.calls:
        try:
            wrong = _CALLS[name](random.Random(seed))
        except _crash() as error:
            wrong = None if name == "register" else of_exception(error)
        except _documented() as error:
            wrong = (
                None if str(error).strip() else Failure(f"{name}: {type(error).__name__} without a text", repr(case))
            )
        except Exception as error:
            found = of_exception(error)
            wrong = Failure(f"{name}: {found.kind}", f"{case}\n{found.detail}")
        if wrong:
            return wrong
    return None


@cache
def _documented() -> tuple[type[Exception], ...]:
    from tma_mlir import TileError, TileErrors
    from tma_mlir.assembler import AssemblerError
    from tma_mlir.bindings import ir
    from tma_mlir.compile.compiler import CompileError
    from tma_mlir.passes.pipeline_text import PipelineError
    from tma_mlir.plan import PlanDeclined
    from tma_mlir.runtime import RuntimeFault

    return (TypeError, ValueError, OSError, ir.MLIRError, TileError, TileErrors, AssemblerError, CompileError,
            PipelineError, PlanDeclined, RuntimeFault)  # fmt: skip


@cache
def _crash() -> type[Exception]:
    """What a pass that raises ends in; those registered here do."""
    from tma_mlir.passes.pipeline import PassCrash

    return PassCrash


@cache
def _text(name: str) -> str:
    return (ROOT / f"examples/{name}.mlir").read_text()


def anything(rng: random.Random) -> Any:
    """A value of the wrong kind, mostly."""
    return rng.choice((
        lambda: None, lambda: 0, lambda: -1, lambda: 1.5, lambda: "", lambda: "x", lambda: b"x", lambda: [], dict,
        object,
        lambda: object(), lambda: ["x"], lambda: (1, 2), lambda: True, lambda: Path("/nowhere"), lambda: Path("."),
        lambda: "x.mlir", lambda: "\x00", lambda: "\udcff", lambda: 1 << 70, lambda: iter(()), lambda: print,
        lambda: {"chip": "x"},
        lambda: _module(rng), lambda: _operation(rng), lambda: _dead_operation(rng), lambda: "sm_90a",
        lambda: "builtin.module()",
    ))()  # fmt: skip


def _module(rng: random.Random) -> Any:
    from tma_mlir.bindings import ir
    from tma_mlir.dialect import make_context

    with make_context():
        return ir.Module.parse(_text(rng.choice(EXAMPLES)))


_KEPT: list[Any] = []
"""Modules of the case: operations that a walk gives do not keep theirs alive (MLIR 22), and nothing can tell."""


def _operation(rng: random.Random) -> Any:
    """An operation inside a module."""
    from tma_mlir.analysis.ir_access import collect

    module = _module(rng)
    _KEPT.append(module)
    name = rng.choice(("gpu.func", "gpu.module", "tile.copy_async", "memref.get_global", "builtin.module"))
    return rng.choice(collect(module.operation, (name,)) or [module.operation])


def _dead_operation(rng: random.Random) -> Any:
    """One that was erased through its module, or whose module's handle is gone."""
    module = _module(rng)
    body = list(module.body.operations)
    if rng.random() < 0.5:
        body[0].operation.erase()
        return body[0]
    operation = module.operation
    del module
    gc.collect()
    return operation


def _compile(rng: random.Random) -> Failure | None:
    import tma_mlir

    source = _text(rng.choice(EXAMPLES)) if rng.random() < 0.4 else anything(rng)
    chip = "sm_90a" if rng.random() < 0.7 else anything(rng)
    options: dict[str, Any] = {"cache": False}
    if rng.random() < 0.6:
        name = rng.choice(("opt_level", "assembler", "assembler_options", "kernel", "cache", "nonsense"))
        options[name] = rng.choice(
            (0, 3, 4, -1, "ptxas", "-lineinfo", ["-lineinfo"], ("x",), "nvjitlink", anything(rng))
        )
    if options["cache"] is True or (options["cache"] and not isinstance(options["cache"], bool)):
        options["cache"] = rng.choice(("x", 5, [1], object()))
    call = rng.choice((tma_mlir.compile, tma_mlir.compile_all))
    call(source, chip, **options)
    return None


def _parse(rng: random.Random) -> Failure | None:
    import tma_mlir

    text = rng.choice((PIPELINE, "builtin.module(cse", "any(cse)", "x", "builtin.module(tile-plan-copies{chip=x})",
    "builtin.module()",
                       "builtin.module(tile-to-cubin{chip=sm_90a})", "builtin.module(" * 3000,
                       "builtin.module(gpu.module(cse,))",
                       anything(rng), anything(rng)))  # fmt: skip
    str(tma_mlir.parse_pipeline(text))
    return None


def _run(rng: random.Random) -> Failure | None:
    import tma_mlir

    op = rng.choice((_module(rng).operation, _module(rng), _operation(rng), _dead_operation(rng), anything(rng)))
    text = rng.choice((PIPELINE, PIPELINE, "any(cse)", "gpu.func(cse)", "builtin.module(nonsense)", anything(rng)))
    if rng.random() < 0.3:
        options: Any = (rng.choice((True, False, None, "x")), rng.choice(((), None)))
        tma_mlir.run_pipeline(op, text, *options)
    else:
        tma_mlir.run_pipeline(op, text)
    return None


def _load(rng: random.Random) -> Failure | None:
    import tma_mlir
    from tma_mlir.bindings import ir

    context = rng.choice((lambda: ir.Context(), lambda: _module(rng).context, lambda: anything(rng)))()
    for _ in range(rng.choice((1, 2))):
        tma_mlir.load(context)
    return None


def _in_a_pass(rng: random.Random) -> Failure | None:
    """A pass of one's own that calls the package again, raises, or keeps what it got."""
    import tma_mlir

    action = rng.choice(("raise", "compile", "run", "erase", "keep", "error", "nothing"))
    kept: list[Any] = []

    def run(op: Any, options: Any) -> None:
        kept.append(op)
        if action == "raise":
            raise rng.choice((KeyError, RuntimeError, ValueError, TypeError))("from a pass")
        if action == "compile":
            tma_mlir.compile_all(_text("load_f32"), "sm_90a", cache=False)
        elif action == "run":
            tma_mlir.run_pipeline(_module(rng).operation, PIPELINE)
        elif action == "erase":
            next(iter(op.regions[0].blocks[0])).operation.erase()
        elif action == "error":
            raise tma_mlir.TileError(op, "not like this")

    name = f"fuzz-{rng.randrange(1 << 40)}"
    tma_mlir.register(tma_mlir.Pass(name, "a pass", run))
    op = _module(rng).operation
    from tma_mlir.passes.pipeline import PassCrash

    try:
        tma_mlir.run_pipeline(op, f"builtin.module({name})")
    except PassCrash as crash:
        return None if action == "raise" else Failure("a crash that is none", str(crash))
    str(op)
    return None


def _register(rng: random.Random) -> Failure | None:
    import tma_mlir

    made: Any = rng.choice((tma_mlir.Pass, tma_mlir.Pipeline, tma_mlir.Option))
    name = f"fuzz-{rng.randrange(1 << 40)}" if rng.random() < 0.7 else anything(rng)
    arguments = [rng.choice((anything(rng), lambda *_: "cse", "a summary")) for _ in range(rng.randint(0, 3))]
    tma_mlir.register(made(name, *arguments))
    if isinstance(name, str) and name.startswith("fuzz-"):
        # What is registered may be a pass that raises: PassCrash says so.
        tma_mlir.run_pipeline(_module(rng).operation, f"builtin.module({name})")
    return None


def _kernel(rng: random.Random) -> Failure | None:
    from tma_mlir.runtime import Kernel

    if rng.random() < 0.5:
        Kernel.from_bytes(anything(rng), *rng.choice(((), ("x",))))
    else:
        Kernel.load(anything(rng))
    return None


_CALLS: dict[str, Callable[[random.Random], Failure | None]] = {
    "compile": _compile,
    "parse_pipeline": _parse,
    "run_pipeline": _run,
    "load": _load,
    "pass": _in_a_pass,
    "register": _register,
    "kernel": _kernel,
}
