"""Programs in a process of their own, for tests of what is imported, of crashes, and of other environments."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping


def run_python(code: str, *arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess:
    """Runs ``code`` with this Python: exit code, standard output and standard error as text."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
