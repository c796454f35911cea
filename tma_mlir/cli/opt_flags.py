"""The flags of ``tma-opt`` itself. All others are passes, see ``pass_flags``."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from .command_line import Flag, by_name, help_text, number
from .program import EXIT_CODES, seconds

PROGRAM = "tma-opt"
SPLIT_MARKER = "// -----"
"""What ``--split-input-file`` splits at, as in mlir-opt."""

_INPUT = (
    Flag("o", "value", "where to write the result", "-", "FILE"),
    Flag("pass-pipeline", "value", "passes to run, as in builtin.module(cse,gpu.module(...))", None, "TEXT", alias="p"),
    Flag("split-input-file", "optional", f"process the parts between '{SPLIT_MARKER}' one by one", "", "MARKER",
         otherwise=SPLIT_MARKER, read=lambda text: text or SPLIT_MARKER),
    Flag("output-split-marker", "value", "what to write between the parts", SPLIT_MARKER, "MARKER"),
    Flag("no-implicit-module", "bool", "take the one operation of the input without a module around it", False),
    Flag("allow-unregistered-dialect", "bool", "accept operations of unknown dialects", False),
    Flag("irdl-file", "value", "a file with dialects in IRDL, loaded before the input", None, "FILE"),
    Flag("run-reproducer", "bool", "run the pipeline that a reproducer holds", False),
)  # fmt: skip
_CHECKS = (
    Flag("verify-diagnostics", "optional", "check messages against comments: expected-error, -warning, -remark, -note",
         None, choices=("all", "only-expected"), otherwise="all"),
    Flag("verify-each", "bool", "verify after each pass (true)", True),
    Flag("no-verify", "bool", "no tile-verify after parsing and no verifier after passes", False),
    Flag("verify-roundtrip", "bool", "see that what is printed, and bytecode, are read as the same again", False),
    Flag("timeout", "value", "give up after so long (600 s if left out)", None, "SECONDS", read=seconds),
)  # fmt: skip
_OUTPUT = (
    Flag("emit-bytecode", "bool", "write bytecode instead of text", False),
    Flag("emit-bytecode-version", "value", "the version of bytecode to write", None, "N", read=number),
    Flag("mlir-print-op-generic", "bool", "print the generic form", False),
    Flag("mlir-print-debuginfo", "bool", "print locations", False),
    Flag("mlir-pretty-debuginfo", "bool", "print locations in a short form that cannot be read again", False),
    Flag("mlir-print-local-scope", "bool", "print attributes, types and locations in place, without aliases", False),
    Flag("mlir-print-assume-verified", "bool", "do not verify before printing", False),
    Flag("mlir-print-skip-regions", "bool", "print no regions", False),
    Flag("mlir-use-nameloc-as-prefix", "bool", "name values by their locations", False),
    Flag("mlir-elide-elementsattrs-if-larger", "value", "print no attributes of more elements", None, "N", read=number),
    Flag("mlir-elide-resource-strings-if-larger", "value", "print no longer resources", None, "N", read=number),
)  # fmt: skip
_PASSES = (
    Flag("mlir-print-ir-before", "list", "print the IR before these passes", None, "PASS,..."),
    Flag("mlir-print-ir-after", "list", "print the IR after these passes", None, "PASS,..."),
    Flag("mlir-print-ir-before-all", "bool", "print the IR before each pass", False),
    Flag("mlir-print-ir-after-all", "bool", "print the IR after each pass", False),
    Flag("mlir-print-ir-after-change", "bool", "of these, print only what a pass changed", False),
    Flag("mlir-print-ir-after-failure", "bool", "print the IR after a pass that failed, and after no other", False),
    Flag("mlir-print-ir-module-scope", "bool", "print the whole module around what a pass ran on", False),
    Flag("mlir-print-ir-tree-dir", "value", "print into files of this folder, one for each pass", None, "FOLDER"),
    Flag("mlir-timing", "bool", "report where the time went, on standard error", False),
    Flag("mlir-timing-display", "value", "how: the slowest first, or in the order of the pipeline", "tree",
         choices=("list", "tree")),
    Flag("mlir-pass-statistics", "bool", "report what passes counted, on standard error", False),
    Flag("mlir-pass-statistics-display", "value", "how: by name, or in the order of the pipeline", "pipeline",
         choices=("list", "pipeline")),
    Flag("dump-pass-pipeline", "bool", "print the pipeline that is run, on standard error", False),
    Flag("mlir-generate-reproducer", "value", "write a reproducer, whatever happens", None, "FILE"),
    Flag("mlir-pass-pipeline-crash-reproducer", "value", "write one if a pass fails or crashes", None, "FILE"),
    Flag("debug", "bool", "show what MLIR logs for debugging", False),
    Flag("debug-only", "list", "show what MLIR logs under these names", None, "NAME,..."),
    Flag("mlir-print-op-on-diagnostic", "bool", "show the operation that a message is about (true)", True),
    Flag("mlir-disable-diagnostic-notes", "bool", "show no notes", False),
    Flag("tma-remarks", "bool", "show what our passes remark on their decisions", False),
    Flag("mlir-disable-threading", "bool", "accepted for mlir-opt's sake; there are no threads", False),
    Flag("color", "bool", "accepted for mlir-opt's sake; there are no colours", False),
)  # fmt: skip
_LISTS = (
    Flag("show-dialects", "bool", "list the dialects and exit", False),
    Flag("list-passes", "bool", "list passes and pipelines with their options and exit", False),
    Flag("version", "bool", "print the versions of everything involved and exit", False),
    Flag("help", "bool", "show this and exit", False, alias="h"),
)
_OTHER_HELP = tuple(
    Flag(name, "bool", "the same", False) for name in ("help-hidden", "help-list", "help-list-hidden")
)  # fmt: skip

FLAGS = (*_INPUT, *_CHECKS, *_OUTPUT, *_PASSES, *_LISTS)

UNSUPPORTED = frozenset(
    [
        "load-dialect-plugin",
        "load-pass-plugin",
        "log-actions-to",
        "log-mlir-actions-filter",
        "mlir-debug-counter",
        "mlir-diagnostic-verbosity-level",
        "mlir-enable-debugger-hook",
        "mlir-output-format",
        "mlir-pass-pipeline-local-reproducer",
        "mlir-print-debug-counter",
        "mlir-print-elementsattrs-with-hex-if-larger",
        "mlir-print-stacktrace-on-diagnostic",
        "mlir-print-unique-ssa-ids",
        "mlir-print-value-users",
        "mlir-very-unsafe-disable-verifier-on-parsing",
        "profile-actions-to",
        "remark-filter",
        "remark-format",
        "remarks-output-file",
    ]
)
"""Flags of mlir-opt that MLIR's Python bindings have nothing for."""


@functools.cache
def own_flags() -> Mapping[str, Flag]:
    """Every flag that is not a pass, by name without dashes."""
    return by_name((*FLAGS, *_OTHER_HELP))


def usage() -> str:
    """The text of ``--help``."""
    return f"""usage: {PROGRAM} [flags] [FILE]

Parse, verify, transform and print MLIR that may hold the tile dialect. FILE is MLIR text or bytecode; - is standard
input, which is read if it is left out. Flags may have one dash or two.

{help_text(FLAGS)}

Every pass is a flag too: --canonicalize, --tile-plan-copies='option=value ...'; see --list-passes.
{EXIT_CODES}."""
