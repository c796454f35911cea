"""Text or a module in, kernels out: plans, the lowered module, PTX, cubin and signature."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..abi.signature import DESCRIPTORS, KernelSignature
from ..analysis.ir_access import collect, copies_in, enclosing
from ..analysis.unreadable import unreadable_attribute
from ..assembler import Cubin, assemble
from ..bindings import ir
from ..bindings.dialects import gpu
from ..chips import DEFAULT_CHIP
from ..diagnostics import Diagnostic, Place, collecting, place_of, quoted, report
from ..dialect import make_context
from ..dialect.plan_attr import PLAN, PlanReader
from ..fatal_text import silent_failure, text_error
from ..files import NotText, decoded
from ..passes.pipeline import Instrumentation, run_pipeline
from ..passes.pipeline_text import PipelineError
from ..passes.stages import Stage, pipeline
from ..passes.tile_assemble import ptx_of
from ..plan import CopyPlan
from .signature_reader import read_signature


class CompileError(Exception):
    """Compilation failed; ``diagnostics`` says where and why, one line each in ``str``."""

    def __init__(self, diagnostics: list[Diagnostic]):
        self.diagnostics = diagnostics
        super().__init__("\n".join(map(str, diagnostics)))

    def __reduce__(self) -> tuple[Any, ...]:  # exceptions come back by their arguments, from other processes too
        return CompileError, (self.diagnostics,)


@dataclass(frozen=True)
class PlannedCopy:
    """One copy of the source with the plan it got."""

    place: Place | None
    kernel: str
    plan: CopyPlan


STAGES = ("planned", "nvgpu", "lowered")
"""Stages whose text can be kept: after planning, after conversion to nvgpu, in the LLVM dialect."""


@dataclass(frozen=True)
class CompiledModule:
    """Everything made from one module. ``texts`` holds the stages asked for; ``lowered`` is what became ``ptx``, with
    source locations."""

    chip: str
    plans: tuple[PlannedCopy, ...]
    texts: dict[str, str]
    signatures: dict[str, KernelSignature]
    ptx: str
    cubin: Cubin | None
    warnings: tuple[Diagnostic, ...] = ()
    """What is legal and probably not meant, located."""


Observer = Callable[[str], None]
"""Called with the name of each step when it is done: ``parse``, ``plan``, ``convert``, ``lower``, ``ptx``,
``assemble``."""


def compile_file(path: str | Path, target: str = DEFAULT_CHIP, **options: Any) -> CompiledModule:
    """``compile_text`` on a file, whose name appears in diagnostics."""
    try:
        program = decoded(Path(path).read_bytes(), str(path))
    except NotText as error:
        raise CompileError([error.diagnostic]) from None
    return compile_text(program, target, name=str(path), **options)


def compile_text(
    text: str | bytes,
    target: str = DEFAULT_CHIP,
    *,
    name: str = "-",
    opt_level: int = 3,
    keep: Collection[str] = (),
    assemble_cubin: bool = True,
    observe: Observer = lambda step: None,
    context: ir.Context | None = None,
    instrumentation: Sequence[Instrumentation] = (),
) -> CompiledModule:
    """Compiles MLIR text (or bytecode) for ``target``. Raises ``CompileError`` with located messages, ``ValueError``
    for a chip that is not known, ``AssemblerError``.

    ``keep`` names the ``STAGES`` to return as text; printing them costs time. ``context``: one of ``make_context`` that
    many modules are compiled in; it keeps their types and attributes as long as it lives. ``instrumentation`` is told
    of every pass, each of which then runs by itself.
    """
    rows = {stage: f"builtin.module({pipeline([stage], target, opt_level)})" for stage in Stage}
    texts: dict[str, str] = {}

    def done(step: str, stage: str = "") -> None:
        if stage in keep:
            texts[stage] = debug_text(root, name) if stage == "lowered" else str(root)
        observe(step)

    def run(stage: Stage) -> None:
        run_pipeline(root, rows[stage], instrumentation=instrumentation)

    fatal = text_error(text, name) if isinstance(text, str) else None
    if fatal:
        raise CompileError([fatal])
    home = make_context() if context is None else context
    parsed = False
    with home, collecting(home) as diagnostics:
        try:
            root = parse(text)
            parsed = True
            done("parse")
            run(Stage.PLAN)
            plans = _plans(root, name)
            done("plan", "planned")
            run(Stage.CONVERT)
            done("convert", "nvgpu")
            run(Stage.LOWER)
            signatures = _signatures(root, name)
            done("lower", "lowered")
            run(Stage.PTX)
            ptx = _ptx(root)
            done("ptx")
        except ir.MLIRError:
            raise CompileError(named(diagnostics.seen, name) or [silent_failure(text, name)]) from None
        except (RuntimeError, TypeError, UnicodeDecodeError):
            # Of names that are not UTF-8 the bindings say this, wherever they are read.
            unreadable = unreadable_attribute(root) if parsed else None
            if unreadable is None:
                raise
            report(unreadable)
            raise CompileError(named(diagnostics.seen, name)) from None
        except PipelineError as error:  # of our own row: the bindings lack one of MLIR's passes
            raise CompileError([Diagnostic("error", None, error.message)]) from None
    cubin = assemble(ptx, target) if assemble_cubin and ptx else None
    done("assemble")
    warnings = tuple(each for each in named(diagnostics.seen, name) if each.severity == "warning")
    return CompiledModule(target, plans, texts, signatures, ptx, cubin, warnings)


def parse(text: str | bytes) -> ir.Operation:
    """``text`` as a ``builtin.module`` (put around it where it is missing); must run inside a context.

    MLIR names text without a file ``-``; ``named`` puts the name back.
    """
    return ir.Module.parse(text).operation


def named(diagnostics: Iterable[Diagnostic], name: str) -> list[Diagnostic]:
    """``diagnostics`` of parsed text with places in ``name``."""
    return [
        replace(each, place=_named_place(each.place, name), notes=tuple(named(each.notes, name)))
        for each in diagnostics
    ]


def _named_place(place: Place | None, name: str) -> Place | None:
    return replace(place, file=name) if place and place.file == "-" else place


def debug_text(root: ir.Operation, name: str) -> str:
    """``root`` printed with locations, which are places in ``name``."""
    return root.get_asm(enable_debug_info=True).replace('loc("-":', f"loc({quoted(name)}:")


def _plans(root: ir.Operation, name: str) -> tuple[PlannedCopy, ...]:
    plans = PlanReader()
    return tuple(
        PlannedCopy(
            _named_place(place_of(copy.operation.location), name),
            _kernel_name(copy.operation),
            plans.read(copy.attributes[PLAN]),
        )
        for copy in copies_in(root)
    )


def _kernel_name(op: ir.Operation) -> str:
    function = enclosing(op, "gpu.func")
    return "" if function is None else ir.StringAttr(function.attributes["sym_name"]).value


def _signatures(root: ir.Operation, file: str) -> dict[str, KernelSignature]:
    signatures: dict[str, KernelSignature] = {}
    for function in collect(root, ("llvm.func",)):
        if DESCRIPTORS not in function.attributes:
            continue
        signature = read_signature(function)
        if signature.name in signatures:
            message = f"kernel @{signature.name} is in two gpu.modules, and one cubin has each name once. Rename one"
            raise CompileError([Diagnostic("error", _named_place(place_of(function.location), file), message)])
        signatures[signature.name] = signature
    return signatures


def _ptx(root: ir.Operation) -> str:
    """One PTX module of all ``gpu.binary``; the header stands in the first only."""
    texts = []
    for binary in collect(root, ("gpu.binary",)):
        texts += [ptx_of(gpu.ObjectAttr(each)) for each in ir.ArrayAttr(binary.attributes["objects"])]
    return "\n".join([*texts[:1], *(_HEADER.sub("", text) for text in texts[1:])])


_HEADER = re.compile(r"^\.(?:version|target|address_size)\b.*$", re.MULTILINE)
