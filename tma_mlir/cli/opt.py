"""``tma-opt``: mlir-opt for the tile dialect, with passes written in Python beside MLIR's own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import SimpleNamespace

from .command_line import read as read_flags
from .guard import guarded
from .opt_flags import PROGRAM, own_flags, usage
from .program import BAD_INPUT, BAD_USAGE, UsageError, complain, end, with_source
from .source import InputError, Source, read


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    options, flags = parse_arguments(sys.argv[1:] if argv is None else argv)
    if options.show_dialects or options.list_passes:
        return guarded(PROGRAM, lambda: run(options, flags), lambda diagnostic: complain(PROGRAM, str(diagnostic)))
    return with_source(PROGRAM, options.input, lambda source: run(options, flags, source), options.timeout)


def script() -> None:
    """The command as it is installed."""
    end(main())


def parse_arguments(argv: Sequence[str]) -> tuple[SimpleNamespace, list[str]]:
    """Options, and the flags that must be names of passes. ``SystemExit`` after help, the version, or a message."""
    try:
        given = read_flags(argv, own_flags())
        if len(given.rest) > 1:
            raise UsageError(f"one input is read, not {len(given.rest)}; unexpected: {' '.join(given.rest[1:])}")
    except UsageError as error:
        complain(PROGRAM, str(error))
        raise SystemExit(BAD_USAGE) from None
    options = given.options
    if options.help or options.help_hidden or options.help_list or options.help_list_hidden:
        print(usage())
        raise SystemExit(0)
    if options.version:
        from .version import version_text

        print(version_text(PROGRAM))
        raise SystemExit(0)
    options.input = given.rest[0] if given.rest else "-"
    return options, given.others


def run(options: SimpleNamespace, pass_flags: Sequence[str], source: Source | None = None) -> int:
    """The whole command in this process; ``pass_flags`` are the arguments that must be names of passes, ``source`` the
    input if it has been read."""
    from ..passes.pipeline_text import PipelineError
    from . import listing
    from .lazy import load_lazily

    load_lazily("numpy")
    try:
        if options.show_dialects:
            return listing.show_dialects()
        if options.list_passes:
            return listing.list_passes()
        from .opt_job import Job

        return Job.prepare(options, pass_flags, source or read(options.input)).run()
    except (PipelineError, UsageError) as error:
        complain(PROGRAM, str(error))
        return BAD_USAGE
    except InputError as error:
        complain(PROGRAM, str(error))
        return BAD_INPUT


if __name__ == "__main__":
    script()
