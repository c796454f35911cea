"""``tma-opt``: mlir-opt for the tile dialect, with passes written in Python beside MLIR's own."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..diagnostics import Diagnostic, Place, collecting
from ..fatal_text import silent_failure, text_error
from ..files import write_whole
from ..isolation.notes import doing
from ..isolation.noting import Noting
from .guard import diagnosing, guarded
from .opt_flags import PROGRAM, own_flags, parser
from .program import BAD_INPUT, BAD_USAGE, UsageError, complain, end, with_source
from .source import InputError, Source, read

if TYPE_CHECKING:
    from mlir import ir

    from ..passes.pipeline import Instrumentation, ParsedPipeline
    from .instrumentation import Timing


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    options, flags = parse_arguments(sys.argv[1:] if argv is None else argv)
    if options.show_dialects or options.list_passes:
        return guarded(PROGRAM, lambda: run(options, flags), lambda diagnostic: complain(PROGRAM, str(diagnostic)))
    return with_source(PROGRAM, options.input, lambda source: run(options, flags, source), options.timeout)


def script() -> None:
    """The command as it is installed."""
    end(main())


def parse_arguments(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Options, and the flags that must be names of passes. ``SystemExit`` after a message for illegal ones."""
    from .pass_flags import separate

    own, flags = separate(argv, own_flags())
    return parser().parse_args(own), flags


def run(options: argparse.Namespace, pass_flags: Sequence[str], source: Source | None = None) -> int:
    """The whole command in this process; ``pass_flags`` are the arguments that must be names of passes, ``source`` the
    input if it has been read."""
    from ..passes.pipeline_text import PipelineError
    from . import listing

    try:
        if options.show_dialects:
            return listing.show_dialects()
        if options.list_passes:
            return listing.list_passes()
        return _Job.prepare(options, pass_flags, source or read(options.input)).run()
    except (PipelineError, UsageError) as error:
        complain(PROGRAM, str(error))
        return BAD_USAGE
    except InputError as error:
        complain(PROGRAM, str(error))
        return BAD_INPUT


@dataclass
class _Job:
    """One invocation on one input."""

    options: argparse.Namespace
    source: Source
    context: ir.Context
    pipeline: ParsedPipeline | None
    instrumentation: list[Instrumentation]
    timing: Timing
    verify_each: bool
    outputs: list[bytes] = field(default_factory=list)

    @classmethod
    def prepare(cls, options: argparse.Namespace, flags: Sequence[str], source: Source) -> _Job:
        from .instrumentation import Timing
        from .pass_flags import boolean, pipeline_of

        timing = Timing()
        doing("while starting")
        if source.bytecode and options.split_input_file:
            raise InputError(f"{source.name}: error: bytecode cannot be split")
        verify_each = boolean("--verify-each", options.verify_each) and not options.no_verify
        with timing.phase("Set-up"):
            from ..dialect import make_context

            context = make_context()
        context.allow_unregistered_dialects = options.allow_unregistered_dialect
        with context, context.attach_diagnostic_handler(lambda diagnostic: True):
            pipeline = pipeline_of(options.pass_pipeline, flags)
        return cls(options, source, context, pipeline, _instrumentation(options, timing, context), timing, verify_each)

    def run(self) -> int:
        chunks = list(self.source.chunks()) if self.options.split_input_file else [self.source.text]
        good = True
        for chunk in chunks:
            good &= self._check(chunk) if self.options.verify_diagnostics else self._process_loudly(chunk)
        if good or self.options.output == "-":
            with self.timing.phase("Output"):
                self._write()
        if self.options.mlir_timing:
            print(self.timing.report(), file=sys.stderr)
        return 0 if good else BAD_INPUT

    def _process_loudly(self, chunk: str) -> bool:
        with collecting(self.context, self.source.show, self.options.tma_remarks) as said:
            problem = self._process(chunk)
            if problem and (not said.failed or problem.message.startswith("internal error")):
                self.source.show(problem)
        return not problem and not said.failed

    def _check(self, chunk: str) -> bool:
        from .verify_diagnostics import mismatches

        with collecting(self.context, remarks=self.options.tma_remarks) as collected:
            problem = self._process(chunk)
        said = collected.seen
        if problem and (not collected.failed or problem.message.startswith("internal error")):
            said = [*said, problem]
        wrong = mismatches(chunk, self.source.name, said, self.options.verify_diagnostics == "only-expected")
        for each in wrong:
            self.source.show(each)
        return not wrong

    def _process(self, chunk: str) -> Diagnostic | None:
        """Run one part. What failed, for when no diagnostic says it; None when all went well."""
        from mlir import ir

        from ..passes.pipeline import PassCrash

        fatal = text_error(chunk, self.source.name)
        if fatal:
            return fatal
        try:
            with self.timing.phase("Parser"):
                module = self._parse(chunk)
        except ir.MLIRError:
            return silent_failure(self.source.bytecode or chunk, self.source.name)
        if not self.options.no_verify and not self._passes_check("tile-verify", module.operation):
            return Diagnostic("error", None, "tile-verify failed")
        if self.pipeline and not self._passes_check("tile-check-limits", module.operation):
            return Diagnostic("error", None, "tile-check-limits failed")
        if self.pipeline:
            doing(f"while running {self.pipeline}"[:400], self._place(chunk))
            try:
                self.pipeline.run(module.operation, self.verify_each, self.instrumentation)
            except ir.MLIRError:
                return Diagnostic("error", None, "the pass pipeline failed and no pass said why")
            except PassCrash as error:
                if "TMA_TRACEBACK" in os.environ:
                    raise
                return Diagnostic("error", None, f"internal error: {error}")
        doing("while printing", self._place(chunk))
        with self.timing.phase("Output"):
            self.outputs.append(self._print(module.operation))
        return None

    def _parse(self, chunk: str) -> ir.Module:
        from mlir import ir

        doing("while parsing", self._place(chunk))
        with self.context:
            if self.source.bytecode:
                return ir.Module.parse(self.source.bytecode)
            if self.options.split_input_file or not self.source.can_be_read_again:
                return ir.Module.parse(chunk)
            return ir.Module.parseFile(self.source.name)  # locations name the file

    def _place(self, chunk: str) -> Place:
        """Where a part of the input begins."""
        return Place(self.source.name, len(chunk) - len(chunk.lstrip("\n")) + 1, 1)

    def _passes_check(self, name: str, op: ir.Operation) -> bool:
        """Whether one of the passes that only look at ``op`` has nothing to say."""
        from ..diagnostics import report
        from ..errors import TileError, TileErrors
        from ..passes import tile_check_limits, tile_verify

        try:
            with self.timing.phase(name):
                if name == "tile-verify":
                    tile_verify.run(op, tile_verify.WITHOUT_PLANS)
                else:
                    tile_check_limits.run(op, {})
        except (TileError, TileErrors) as error:
            report(error)
            return False
        return True

    def _print(self, op: ir.Operation) -> bytes:
        if not self.options.emit_bytecode:
            return op.get_asm(binary=True, **_print_options(self.options)).rstrip(b"\n") + b"\n\n"
        import io

        stream = io.BytesIO()
        op.write_bytecode(stream)
        return stream.getvalue()

    def _write(self) -> None:
        if diagnosing():
            return
        data = (b"" if self.options.emit_bytecode else b"// -----\n").join(self.outputs)
        if self.options.output == "-":
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return
        try:
            write_whole(self.options.output, data)
        except OSError as error:
            raise InputError(f"cannot write '{self.options.output}': {error.strerror or error}") from None


def _print_options(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "enable_debug_info": options.mlir_print_debuginfo,
        "print_generic_op_form": options.mlir_print_op_generic,
    }


def _instrumentation(options: argparse.Namespace, timing: Timing, context: ir.Context) -> list[Instrumentation]:
    from .instrumentation import PrintIR
    from .pass_flags import known_passes

    if diagnosing():
        return [Noting()]
    wanted: list[Instrumentation] = [timing] if options.mlir_timing else []
    with context:
        before = known_passes("--mlir-print-ir-before", options.mlir_print_ir_before)
        after = known_passes("--mlir-print-ir-after", options.mlir_print_ir_after)
    printer = PrintIR(
        sys.stderr,
        None if options.mlir_print_ir_before_all else before,
        None if options.mlir_print_ir_after_all else after,
        options.mlir_print_ir_after_failure,
        _print_options(options),
    )
    if (printer.before_names, printer.after_names, printer.after_failure) != (frozenset(), frozenset(), False):
        wanted.append(printer)
    return wanted


if __name__ == "__main__":
    script()
