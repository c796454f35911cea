"""``tma-explain``: for each copy of a file, the plan, its conditions, and why not another way."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ..chips import CHIPS, DEFAULT_CHIP
from .guard import doing, guarded
from .source import InputError, Source, read


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="tma-explain",
        description="Plan every tile.copy_async of a file and say what was chosen, under which conditions, and why "
        "each other way lost or which rule forbids it. Exits with 1 if a copy has no plan.",
    )
    made.add_argument("file", nargs="?", default="-", help="MLIR file, - for standard input")
    made.add_argument("--chip", default=DEFAULT_CHIP, choices=CHIPS, metavar="C", help=f"one of {', '.join(CHIPS)}")
    made.add_argument("--format", choices=("text", "json"), default="text")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    return guarded("tma-explain", lambda: _main(options))


def _main(options: argparse.Namespace) -> int:
    try:
        source = read(options.file)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    doing(f"{source.name}:1:1")
    explained = _explain(source, options.chip)
    if explained is None:
        return 1
    if options.format == "json":
        print(json.dumps([each["json"] for each in explained], indent=2))
    else:
        print("\n".join(each["text"] for each in explained))
    return 0 if all(each["planned"] for each in explained) else 1


def _explain(source: Source, chip: str) -> list[dict[str, Any]] | None:
    """What to print of every copy; None after errors have been printed."""
    from mlir import ir

    from ..diagnostics import collecting
    from ..dialect import make_context
    from ..passes.pipeline import run_pipeline

    context = make_context()
    with context, collecting(context, lambda each: print(source.render(each), file=sys.stderr)) as said:
        try:
            root = ir.Module.parse(source.bytecode or source.text).operation
            run_pipeline(root, "builtin.module(tile-verify)")
        except ir.MLIRError as error:
            if not said.failed:
                print(f"{source.name}:1:1: error: {error}", file=sys.stderr)
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
    sys.exit(main())
