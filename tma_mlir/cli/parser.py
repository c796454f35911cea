"""What the command lines of ``tma-run`` and ``tma-explain`` have in common."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from ..chips import CHIPS, DEFAULT_CHIP, chip
from .program import BAD_USAGE, complain, seconds


class Parser(argparse.ArgumentParser):
    """argparse with the error messages of the other errors, no abbreviations, and ``--version``."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)
        self.add_argument("--version", action=_Version, help="print the versions of everything involved and exit")

    def error(self, message: str) -> NoReturn:
        complain(self.prog, message)
        raise SystemExit(BAD_USAGE)


class _Version(argparse.Action):
    def __init__(self, option_strings: Any, dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from .version import version_text

        print(version_text(parser.prog))
        raise SystemExit(0)


def add_chip(parser: argparse.ArgumentParser) -> None:
    """The option ``--chip``."""
    known = f"one of {', '.join(CHIPS)} (default {DEFAULT_CHIP})"
    parser.add_argument("--chip", default=DEFAULT_CHIP, type=_chip_name, metavar="C", help=known)


def _chip_name(text: str) -> str:
    try:
        return chip(text).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_timeout(parser: argparse.ArgumentParser, what: str) -> None:
    """The option ``--timeout``."""
    parser.add_argument("--timeout", type=_seconds, metavar="SECONDS", help=f"give up after so long ({what})")


def _seconds(text: str) -> float:
    try:
        return seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
