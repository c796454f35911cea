"""``tma-run``: compiles a kernel, runs it once, and says whether the result is what its copies mean."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..diagnostics import Diagnostic, Place
from ..fatal_text import text_error
from ..files import write_whole
from ..isolation.notes import AFTER, doing
from ..isolation.noting import Noting
from .guard import UNLIMITED, diagnosing
from .program import BAD_INPUT, WRONG_RESULT, complain, end, with_source
from .run_flags import PROGRAM, SCREEN, parse
from .source import Source

if TYPE_CHECKING:
    from ..abi.signature import KernelSignature
    from ..compile.compiler import CompiledModule
    from ..run.arguments import Value
    from ..run.execute import Extents
    from ..run.expected import Expectation
    from ..sim.errors import Finding


class Failure(Exception):
    """Ends the run with ``code``; the messages are for the user, those without a place as text."""

    def __init__(self, *messages: Diagnostic | str, code: int = BAD_INPUT) -> None:
        self.messages, self.code = messages, code
        super().__init__(*messages)


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(argv)
    return with_source(PROGRAM, options.file, lambda source: _reported(options, source), options.timeout)


def script() -> None:
    """The command as it is installed."""
    end(main())


def _reported(options: argparse.Namespace, source: Source) -> int:
    try:
        return _run(options, source)
    except Failure as failure:
        for message in failure.messages:
            if isinstance(message, str):
                complain(PROGRAM, message)
            else:
                source.show(message)
        return failure.code


def _run(options: argparse.Namespace, source: Source) -> int:
    from ..run.arguments import make_arguments, output_path
    from ..run.array_spec import ArgumentError
    from ..run.expected import read_expectations
    from ..run.report import instruction_lines, plan_lines, resource_line, spilled_bytes

    doing("while compiling")
    # What cannot succeed is said before anything is compiled, as far as it is known by then.
    try:
        outputs = {index: output_path(index, text) for index, text in options.out.items()}
        compiled = _compiled(source, options.chip)
        signature = _kernel(compiled, options.kernel)
        values = make_arguments(signature, options.arg)
        expectations = read_expectations(options.expect, signature, values)
        extents = _extents(options, signature)
    except ArgumentError as error:
        raise Failure(str(error)) from None
    _check_different(outputs)
    unknown = sorted(set(outputs) - set(range(len(values))))
    if unknown:
        raise Failure(f"--out {unknown[0]}: kernel @{signature.name} takes {len(values)} arguments, numbered from 0")
    for warning in compiled.warnings:
        source.show(warning)
    if not diagnosing():
        _write(compiled, signature, options.emit, options.out_dir)
    say = _speaker(options)
    planned = [each for each in compiled.plans if each.kernel == signature.name]
    say(*(line for each in planned for line in plan_lines(each)), *instruction_lines(compiled.ptx))
    resources = compiled.cubin.resources.get(signature.name) if compiled.cubin else None
    if resources is not None:
        say(resource_line(resources, signature.dynamic_shared_bytes))
        if spilled_bytes(resources):
            text = (
                f"@{signature.name} spills: {spilled_bytes(resources)} bytes of each thread that do not fit its "
                f"{resources.registers} registers go through local memory, which is slow. Keep fewer values alive at a "
                "time, or give the work to more threads"
            )
            source.show(Diagnostic("warning", None, text))
    return _execute(options, source, compiled, signature, values, outputs, expectations, extents, len(planned))


def _check_different(outputs: dict[int, Path]) -> None:
    """Two arguments in one file: the second would take the place of the first."""
    seen: dict[Path, int] = {}
    for index, path in outputs.items():
        other = seen.setdefault(path.resolve(), index)
        if other != index and not (path.exists() and not path.is_file()):
            raise Failure(f"--out {index}={path}: argument {other} is written there. Name another file")


def _speaker(options: argparse.Namespace) -> Callable[..., None]:
    """Prints lines of the report, out of the way of what ``--emit`` writes."""
    file = sys.stderr if options.emit and options.out_dir == SCREEN else sys.stdout

    def say(*lines: str) -> None:
        for line in lines:
            print(line, file=file)

    return say


def _compiled(source: Source, chip: str) -> CompiledModule:
    from ..assembler import AssemblerError
    from ..compile.compiler import STAGES, CompileError, compile_text

    fatal = text_error(source.text, source.name)
    if fatal:
        raise Failure(fatal)
    try:
        program = source.bytecode or source.text
        looking = [Noting()] if diagnosing() else []
        options: dict[str, Any] = {"observe": lambda step: doing(AFTER[step]), "instrumentation": looking}
        return compile_text(program, chip, name=source.name, keep=STAGES, **options)
    except CompileError as error:
        raise Failure(*error.diagnostics) from None
    except AssemblerError as error:
        raise Failure(str(error)) from None


def _kernel(compiled: CompiledModule, name: str | None) -> KernelSignature:
    names = list(compiled.signatures)
    if not names:
        text = "the module launches all its kernels itself (gpu.launch_func), and tma-run launches kernels"
        raise Failure(f"{text}. Remove the launches")
    if name is None and len(names) > 1:
        raise Failure(f"the module has several kernels; choose one with --kernel: {', '.join(names)}")
    if name is not None and name not in names:
        raise Failure(f"--kernel {name}: the module has no such kernel; it has {', '.join(names)}")
    return compiled.signatures[name or names[0]]


def _extents(options: argparse.Namespace, signature: KernelSignature) -> Extents:
    """What to launch with, checked against what the kernel was compiled for."""
    from ..abi.extents import promised, promised_cluster
    from ..run.execute import Extents

    for name, given, known in (
        ("grid", options.grid, signature.grid),
        ("block", options.block, signature.block),
    ):
        if given is None and known is None:
            raise Failure(
                f"@{signature.name} does not say its {name}: give it with --{name}, or add known_{name}_size to the "
                "gpu.func"
            )
    try:
        grid = promised("grid", options.grid, signature.grid, signature.name)
        block = promised("block", options.block, signature.block, signature.name)
        cluster = promised_cluster(options.cluster, signature.cluster, grid, signature.name)
    except ValueError as error:
        raise Failure(str(error).replace("Pass None or", "Leave the option out, or pass")) from None
    return Extents(grid, block, cluster)


def _execute(
    options: argparse.Namespace,
    source: Source,
    compiled: CompiledModule,
    signature: KernelSignature,
    values: list[Value],
    outputs: dict[int, Path],
    expectations: list[Expectation],
    extents: Extents,
    copies: int,
) -> int:
    import numpy as np

    from ..run import execute
    from ..run.array_files import save_array
    from ..run.array_spec import ArgumentError
    from ..run.reference import copy_arguments, lower_reference
    from ..run.report import changed_text, executed_lines, verdict_text
    from ..sim.command_line import run_with_options

    doing(UNLIMITED)
    say = _speaker(options)
    on_gpu = options.device == "gpu" or (options.device == "auto" and execute.gpu_available())
    before = copy_arguments(values)
    with _failures():
        reference = lower_reference(source.bytecode or source.text, source.name)
        if on_gpu:
            # First by definition, in the simulator: a kernel that hangs would block the GPU.
            expected = execute.run_reference(reference, signature.name, before, extents)
            execute.run_gpu(compiled, signature, values, extents)
        else:
            result = run_with_options(
                options,
                compiled.texts["lowered"],
                signature,
                values,
                compiled.chip,
                grid=extents.grid,
                block=extents.block,
                cluster=extents.cluster,
                warn=lambda finding: source.show(_diagnostic(finding)),
            )
            say(*executed_lines(result))
            expected = execute.run_reference(reference, signature.name, before, extents)
    try:
        for index, path in outputs.items():
            save_array(f"--out {index}", path, np.asarray(values[index]))
    except ArgumentError as error:
        raise Failure(str(error)) from None
    where = f"@{signature.name} on {'the GPU' if on_gpu else 'the simulator'} ({compiled.chip})"
    wrong = []
    if mismatches := execute.compare(values, expected):
        lines = "\n".join(f"  {each}" for each in mismatches)
        wrong.append(f"ran {where}; the result is not what its copies mean:\n{lines}")
    for each in expectations:
        if mismatch := each.mismatch(np.asarray(values[each.argument])):
            wrong.append(
                f"ran {where}; argument {each.argument} does not equal {each.name}{each.tolerance}:\n  {mismatch}"
            )
    changed = changed_text(signature, [each.argument for each in execute.compare(values, before)])
    if wrong:
        raise Failure(*wrong, code=WRONG_RESULT)
    equal = [f"argument {each.argument} equals {each.name}{each.tolerance}" for each in expectations]
    say(verdict_text(where, equal, copies, min(copies, expected.executed)))
    say(f"changed: {changed}")
    return 0


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """Turns what a run can raise into a ``Failure``."""
    from ..compile.compiler import CompileError
    from ..run.execute import RunError
    from ..runtime.errors import ArgumentTypeError, CudaError, DescriptorError, RuntimeFault
    from ..sim.errors import BEFORE_THE_RUN, SimulationError

    try:
        yield
    except CompileError as error:
        raise Failure(*error.diagnostics) from None
    except SimulationError as error:
        code = BAD_INPUT if error.kind in BEFORE_THE_RUN else WRONG_RESULT
        raise Failure(_diagnostic(error.finding), code=code) from None
    except CudaError as error:
        raise Failure(str(error), code=WRONG_RESULT if error.sticky else BAD_INPUT) from None
    except (RunError, RuntimeFault, ArgumentTypeError, DescriptorError, OSError) as error:
        raise Failure(str(error)) from None


def _diagnostic(finding: Finding) -> Diagnostic:
    """What the simulator says, as MLIR's messages are shown."""
    notes = tuple(Diagnostic("note", _place(place), text) for text, place in finding.notes)
    return Diagnostic(finding.severity, _place(finding.location), f"{finding.message} [{finding.kind}]", notes)


def _place(location: str) -> Place | None:
    file, line, column = [*location.rsplit(":", 2), "", ""][:3]
    return Place(file, int(line), int(column)) if line.isdecimal() and column.isdecimal() else None


def _write(compiled: CompiledModule, signature: KernelSignature, emits: Sequence[str], folder: Path) -> None:
    # A name in MLIR may be anything, a path too.
    stem = re.sub(r"[^\w.$-]", "_", signature.name)[:200].lstrip(".") or "kernel"
    contents: dict[str, tuple[str, bytes]] = {
        "plan": (f"{stem}.plan.mlir", compiled.texts["planned"].encode()),
        "nvgpu": (f"{stem}.nvgpu.mlir", compiled.texts["nvgpu"].encode()),
        "lowered": (f"{stem}.lowered.mlir", compiled.texts["lowered"].encode()),
        "ptx": (f"{stem}.ptx", compiled.ptx.encode()),
        "cubin": (f"{stem}.cubin", compiled.cubin.data if compiled.cubin else b""),
    }
    try:
        for each in emits:
            file, data = contents[each]
            if folder == SCREEN:
                sys.stdout.buffer.write(data.rstrip(b"\n") + b"\n")
                sys.stdout.buffer.flush()
            else:
                folder.mkdir(parents=True, exist_ok=True)
                write_whole(folder / file, data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failure(f"cannot write to {folder}: {error.strerror or error}") from None


if __name__ == "__main__":
    script()
