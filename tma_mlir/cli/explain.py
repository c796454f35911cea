"""``tma-explain``: for each copy of a file, the plan, its conditions, and why not another way."""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from ..fatal_text import silent_failure, text_error
from ..isolation.notes import doing
from .parser import Parser, add_chip, add_timeout
from .program import BAD_INPUT, EXIT_CODES, end, with_source
from .source import Source

PROGRAM = "tma-explain"


def parser() -> argparse.ArgumentParser:
    made = Parser(
        prog=PROGRAM,
        description="Plan every tile.copy_async of a file and say what was chosen, under which conditions, and why "
        "each other way lost or which rule forbids it.",
        epilog=f"{EXIT_CODES}. A copy that has no plan is wrong input.",
    )
    made.add_argument("file", nargs="?", default="-", help="MLIR text or bytecode; - is standard input (the default)")
    add_chip(made)
    add_timeout(made, "600 s if left out")
    made.add_argument("--format", choices=("text", "json"), default="text", help="text (the default) or JSON")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    return with_source(PROGRAM, options.file, lambda source: _run(options, source), options.timeout)


def script() -> None:
    """The command as it is installed."""
    end(main())


def _run(options: argparse.Namespace, source: Source) -> int:
    doing("while parsing")
    explained = _explain(source, options.chip)
    if explained is None:
        return BAD_INPUT
    if options.format == "json":
        print(json.dumps([each["json"] for each in explained], indent=2))
    else:
        print("\n".join(each["text"] for each in explained) or f"{source.name}: there is no tile.copy_async to explain")
    return 0 if all(each["planned"] for each in explained) else BAD_INPUT


def _explain(source: Source, chip: str) -> list[dict[str, Any]] | None:
    """What to print of every copy; None after errors have been printed."""
    from ..analysis.ir_access import collect, copies_in
    from ..analysis.kernel_forms import no_kernel_error, outlining_errors
    from ..analysis.kernel_parameters import parameter_errors
    from ..bindings import ir
    from ..diagnostics import collecting, report
    from ..dialect import make_context
    from ..errors import TileErrors
    from ..passes.pipeline import run_pipeline

    fatal = text_error(source.text, source.name)
    if fatal:
        source.show(fatal)
        return None
    context = make_context()
    with context, collecting(context, source.show) as said:
        try:
            root = ir.Module.parse(source.bytecode or source.text).operation
            doing("while planning")
            run_pipeline(root, "builtin.module(tile-check-limits,tile-verify)")
            errors = list(outlining_errors(root))
            if not copies_in(root):
                missing = no_kernel_error(root)
                errors += [missing] if missing and not errors else []
                errors += itertools.chain(*map(parameter_errors, collect(root, ("gpu.func",))))
            if errors:
                report(TileErrors(errors))
                return None
        except ir.MLIRError:
            if not said.failed:
                source.show(silent_failure(source.bytecode or source.text, source.name))
            return None
        return list(_copies(root, source, chip))


def _copies(root: Any, source: Source, chip: str) -> Iterator[dict[str, Any]]:
    from ..analysis.copy_requests import copy_request
    from ..analysis.global_views import fold_global_subviews
    from ..analysis.ir_access import copies_in
    from ..diagnostics import place_of
    from ..plan import PlanDeclined, plan_copy
    from ..plan.explain import declined_text, explain_text, plan_data

    for copy in copies_in(root):
        place = place_of(copy.operation.location)
        where = f"{source.name}:{place.line}:{place.column}" if place else source.name
        request = copy_request(fold_global_subviews(copy), chip)
        try:
            plan = plan_copy(request)
        except PlanDeclined as declined:
            findings = [str(finding) for finding in declined.findings]
            text = f"{where}: {declined_text(request, declined)}"
            yield {"planned": False, "text": text, "json": {"place": where, "declined": findings}}
        else:
            text = f"{where}: {explain_text(plan)}"
            yield {"planned": True, "text": text, "json": {"place": where, **plan_data(plan)}}


if __name__ == "__main__":
    script()
