"""One invocation of ``tma-opt`` on one input."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ..diagnostics import Diagnostic, Place, collecting, report
from ..errors import TileError, TileErrors
from ..fatal_text import silent_failure, text_error
from ..files import write_whole
from ..isolation.notes import doing
from . import opt_print, reproducer
from .guard import diagnosing
from .instrumentation import Timing, instrumentation
from .opt_input import load_irdl, parse
from .pass_flags import pipeline_of
from .program import BAD_INPUT
from .source import InputError, Part, Source

if TYPE_CHECKING:
    from ..bindings import ir
    from ..passes.pipeline import Instrumentation, ParsedPipeline


@dataclass
class Job:
    """``flags`` are those that are passes; ``outputs`` has what each part gave, nothing where it failed.
    ``module`` keeps what was parsed last alive."""

    options: SimpleNamespace
    flags: Sequence[str]
    source: Source
    context: ir.Context
    pipeline: ParsedPipeline | None
    instrumentation: list[Instrumentation]
    timing: Timing
    module: ir.Module | None = None
    outputs: list[bytes] = field(default_factory=list)

    @classmethod
    def prepare(cls, options: SimpleNamespace, flags: Sequence[str], source: Source) -> Job:
        """``InputError``, ``UsageError`` or ``PipelineError`` for what cannot be done."""
        timing = Timing()
        doing("while starting")
        if source.bytecode and options.split_input_file:
            raise InputError(f"{source.name}: error: bytecode cannot be split")
        with timing.phase("Set-up"):
            from ..dialect import make_context

            context = make_context()
        if options.irdl_file is not None:
            load_irdl(options.irdl_file, context)
        if options.allow_unregistered_dialect:
            context.allow_unregistered_dialects = True
        if options.run_reproducer:
            source = reproducer.apply(options, flags, source)
        with context, context.attach_diagnostic_handler(lambda diagnostic: True):
            pipeline = pipeline_of(options.pass_pipeline, flags)
            watchers = instrumentation(options, timing)
        _log_for_debugging(options)
        return cls(options, flags, source, context, pipeline, watchers, timing)

    def run(self) -> int:
        """The exit code."""
        if self.options.dump_pass_pipeline:
            with self.context:
                print(opt_print.pipeline_dump(self.pipeline), file=sys.stderr)
        good = True
        for part in self.source.parts(self.options.split_input_file):
            if isinstance(part, Diagnostic):
                self.source.show(part)
                continue
            self.outputs.append(b"")
            good &= self._check(part) if self.options.verify_diagnostics else self._process_loudly(part)
        if good or self.options.o == "-":
            with self.timing.phase("Output"):
                self._write()
        if self.options.mlir_timing:
            print(self.timing.report(self.options.mlir_timing_display), file=sys.stderr)
        return 0 if good else BAD_INPUT

    def _process_loudly(self, part: Part) -> bool:
        with collecting(self.context, self._show, self.options.tma_remarks) as said:
            problem = self._process(part)
            if problem and (not said.failed or problem.message.startswith("internal error")):
                self._show(problem)
        return not problem and not said.failed

    def _show(self, diagnostic: Diagnostic) -> None:
        if self.options.mlir_disable_diagnostic_notes:
            diagnostic = replace(diagnostic, notes=())
        elif not self.options.mlir_print_op_on_diagnostic:
            notes = (note for note in diagnostic.notes if not note.message.startswith("see current operation"))
            diagnostic = replace(diagnostic, notes=tuple(notes))
        self.source.show(diagnostic)

    def _check(self, part: Part) -> bool:
        from .verify_diagnostics import mismatches

        with collecting(self.context, remarks=self.options.tma_remarks) as collected:
            problem = self._process(part)
        said = collected.seen
        if problem and (not collected.failed or problem.message.startswith("internal error")):
            said = [*said, problem]
        wrong = mismatches(part.text, self.source.name, said, self.options.verify_diagnostics == "only-expected")
        for each in wrong:
            self.source.show(each)
        return not wrong

    def _process(self, part: Part) -> Diagnostic | None:
        """Run one part. What failed, for when no diagnostic says it; None when all went well."""
        from ..bindings import ir

        fatal = text_error(part.text, self.source.name)
        if fatal:
            return fatal
        doing("while parsing", self._place(part))
        try:
            with self.timing.phase("Parser"), self.context:
                op, self.module = parse(self.options, self.source, part, str(self.pipeline or ""))
        except ir.MLIRError:
            return silent_failure(self.source.bytecode or part.text, self.source.name)
        if not self.options.no_verify and self._may_hold_tile(part) and not self._passes_check("tile-verify", op):
            return Diagnostic("error", None, "tile-verify failed")
        if self.pipeline and self._may_be_fatal(part) and not self._passes_check("tile-check-limits", op):
            return Diagnostic("error", None, "tile-check-limits failed")
        if self.options.verify_roundtrip:
            different = opt_print.roundtrip_problem(op)
            if different:
                return Diagnostic("error", self._place(part), different)
        failed = self._run_passes(op, part)
        if failed:
            return failed
        doing("while printing", self._place(part))
        with self.timing.phase("Output"):
            if self.options.no_implicit_module and op.parent is not None:
                op.detach_from_parent()
            self.outputs[-1] = opt_print.printed(self.options, op)
        return None

    def _may_hold_tile(self, part: Part) -> bool:
        """Whether there is a reason to load what verifies operations of the dialect."""
        return bool(self.source.bytecode) or "tile." in part.text

    def _may_be_fatal(self, part: Part) -> bool:
        """Whether there is code for a GPU: ``tile-check-limits`` refuses no other, once the text has been looked at."""
        return self._may_hold_tile(part) or "gpu." in part.text

    def _run_passes(self, op: ir.Operation, part: Part) -> Diagnostic | None:
        from ..bindings import ir
        from ..passes.pipeline import PassCrash

        pipeline = self.pipeline
        if pipeline and self.flags and op.name != pipeline.anchor:
            with self.context:
                pipeline = pipeline_of(None, self.flags, op.name)
        if not pipeline:
            return None
        doing(f"while running {pipeline}"[:400], self._place(part))
        verify = self.options.verify_each and not self.options.no_verify
        crash = self._write_reproducers(pipeline, op)
        try:
            pipeline.run(op, verify, self.instrumentation, opt_print.statistics(self.options))
        except ir.MLIRError:
            if crash:
                report(TileError(op.location, "a pass failed", [f"reproducer generated at `{crash}`"]))
            return Diagnostic("error", None, "the pass pipeline failed and no pass said why")
        except PassCrash as error:
            if "TMA_TRACEBACK" in os.environ:
                raise
            return Diagnostic("error", None, f"internal error: {error}")
        if crash:
            os.unlink(crash)
        return None

    def _write_reproducers(self, pipeline: ParsedPipeline, op: ir.Operation) -> str | None:
        """Writes those that are wanted. The path of the one for a crash, which has to be there before the crash."""
        crash = self.options.mlir_pass_pipeline_crash_reproducer
        paths = [path for path in (crash, self.options.mlir_generate_reproducer) if path]
        if diagnosing() or not paths:
            return None
        text = reproducer.text(op, pipeline, self.options.verify_each)
        for path in paths:
            _write_file(path, text)
        return crash

    def _place(self, part: Part) -> Place:
        """Where a part of the input begins."""
        return Place(self.source.name, part.line, part.column)

    def _passes_check(self, name: str, op: ir.Operation) -> bool:
        """Whether one of the passes that only look at ``op`` has nothing to say."""
        try:
            with self.timing.phase(name):
                if name == "tile-verify":
                    from ..passes import tile_verify

                    tile_verify.run(op, tile_verify.WITHOUT_PLANS)
                else:
                    from ..passes import tile_check_limits

                    tile_check_limits.run(op, {})
        except (TileError, TileErrors) as error:
            report(error)
            return False
        return True

    def _write(self) -> None:
        if diagnosing():
            return
        marker = self.options.output_split_marker
        between = b"" if self.options.emit_bytecode else f"{marker}\n".encode()
        data = between.join(self.outputs)
        if self.options.o == "-":
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            _write_file(self.options.o, data)


def _write_file(path: str, data: bytes) -> None:
    try:
        write_whole(path, data)
    except OSError as error:
        raise InputError(f"cannot write '{path}': {error.strerror or error}") from None


def _log_for_debugging(options: SimpleNamespace) -> None:
    """What ``LLVM_DEBUG`` prints in MLIR's own passes."""
    if options.debug or options.debug_only:
        from ..bindings import ir

        ir._GlobalDebug.flag = True
        if options.debug_only:
            ir._GlobalDebug.set_types(options.debug_only)
