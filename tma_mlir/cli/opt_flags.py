"""The flags of ``tma-opt`` itself. All others are passes, see ``pass_flags``."""

from __future__ import annotations

import argparse

from .program import EXIT_CODES, Parser, add_timeout

PROGRAM = "tma-opt"


def parser() -> argparse.ArgumentParser:
    """Reads every flag but those that are names of passes."""
    made = Parser(
        prog=PROGRAM,
        description="Parse, verify, transform and print MLIR that may hold the tile dialect.",
        epilog="Every pass is a flag too: --canonicalize, --tile-plan-copies='option=value ...'; see --list-passes. "
        f"{EXIT_CODES}.",
    )
    add = made.add_argument
    add("input", nargs="?", default="-", help="MLIR text or bytecode; - is standard input (the default)")
    add("-o", dest="output", default="-", metavar="FILE", help="where to write the result")
    add("--pass-pipeline", metavar="TEXT", help="passes to run, as in builtin.module(cse,gpu.module(...))")
    add("--split-input-file", action="store_true", help="process the parts between lines '// -----' one by one")
    add(
        "--verify-diagnostics",
        nargs="?",
        const="all",
        choices=["all", "only-expected"],
        help="check messages against expected-error, -warning, -remark and -note comments",
    )
    add("--verify-each", nargs="?", const="true", default="true", metavar="BOOL", help="verify after each pass (true)")
    add("--no-verify", action="store_true", help="no tile-verify after parsing and no verifier after passes")
    add("--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects")
    add("--mlir-print-ir-before", action="append", default=[], metavar="PASS", help="print the IR before PASS[,PASS]")
    add("--mlir-print-ir-after", action="append", default=[], metavar="PASS", help="print the IR after PASS[,PASS]")
    add("--mlir-print-ir-before-all", action="store_true", help="print the IR before each pass")
    add("--mlir-print-ir-after-all", action="store_true", help="print the IR after each pass")
    add("--mlir-print-ir-after-failure", action="store_true", help="print the IR after a pass that failed")
    add("--mlir-timing", action="store_true", help="report where the time went, on standard error")
    add("--mlir-print-op-generic", action="store_true", help="print the generic form")
    add("--mlir-print-debuginfo", action="store_true", help="print locations")
    add("--mlir-disable-threading", action="store_true", help="accepted for mlir-opt's sake; there are no threads")
    add("--emit-bytecode", action="store_true", help="write bytecode instead of text")
    add("--tma-remarks", action="store_true", help="show what our passes remark on their decisions")
    add_timeout(made, "600 s if left out")
    add("--show-dialects", action="store_true", help="list the dialects and exit")
    add("--list-passes", action="store_true", help="list passes and pipelines with their options and exit")
    return made


def own_flags() -> frozenset[str]:
    """Every flag that ``parser`` reads, with its dashes."""
    return frozenset(parser()._option_string_actions)
