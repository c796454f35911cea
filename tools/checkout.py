"""What the scripts of this folder share: running from a checkout, and naming files that are missing."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def existing_file(text: str) -> Path:
    """A command-line argument that must be a file, for ``argparse``'s ``type``."""
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{text} is not a file")
    return path
