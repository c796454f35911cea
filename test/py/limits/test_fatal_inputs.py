"""What MLIR or LLVM does not survive is one located error, from every entry, and the process goes on.

All inputs go through one child process for each entry, since each of them would end it.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from .fatal_inputs import FATAL, kernel

FOLDER = Path(__file__).parents[1]

COMPILE = """
    import json, sys, warnings
    sys.path.insert(0, sys.argv[1])
    from limits.fatal_inputs import FATAL
    import tma_mlir
    from tma_mlir.compile.compiler import CompileError
    for name, each in FATAL.items():
        print(json.dumps([name, "began"]), flush=True)
        try:
            tma_mlir.compile_all(each.text, each.chip, cache=False, **OPTIONS)
            said = "compiled"
        except CompileError as error:
            said = str(error)
        print(json.dumps([name, said]), flush=True)
"""

TOOL = """
    import contextlib, io, json, sys
    sys.path.insert(0, sys.argv[1])
    from limits.fatal_inputs import FATAL
    from tma_mlir.cli import opt
    for name, each in FATAL.items():
        print(json.dumps([name, "began"]), flush=True)
        sys.stdin = io.TextIOWrapper(io.BytesIO(each.text.encode()))
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            code = opt.run(*opt.parse_arguments(["-", f"--tile-to-cubin=chip={each.chip}", "-o", "/dev/null"]))
        print(json.dumps([name, f"{code} {said.getvalue()}"]), flush=True)
"""


@functools.cache
def outcomes(script: str) -> dict[str, str]:
    """What came of each input. One that ended the process has only begun."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(FOLDER)], capture_output=True, text=True, timeout=300
    )
    found = dict(map(json.loads, done.stdout.splitlines()))
    assert done.returncode == 0, (list(found.items())[-1:], done.stderr[-500:])
    return found


@pytest.mark.parametrize("name", FATAL)
def test_compile_says_what_is_wrong(name):
    assert outcomes(COMPILE.replace("**OPTIONS", ""))[name] == f"-:{FATAL[name].says.replace(': ', ': error: ', 1)}"


@pytest.mark.parametrize("name", FATAL)
def test_tma_opt_says_what_is_wrong(name):
    place, _, message = FATAL[name].says.partition(": ")
    assert outcomes(TOOL)[name].splitlines()[0] == f"1 <stdin>:{place}: error: {message}"


@pytest.mark.parametrize(
    ("passes", "case"),
    [
        ("gpu.module(convert-gpu-to-nvvm)", "workgroup memory of unknown stride"),
        ("gpu.module(canonicalize)", "constant index of 2^28"),
        ("gpu-module-to-binary", "block -1"),
    ],
)
def test_upstream_passes_are_not_reached(passes, case):
    """tma-opt says it before a row of passes that has none of this package."""
    script = TOOL.replace("--tile-to-cubin=chip={each.chip}", f"--pass-pipeline=builtin.module({passes})")
    assert FATAL[case].says.partition(": ")[2] in outcomes(script)[case]


def test_what_is_only_large_compiles():
    """One step inside of each bound."""
    from tma_mlir.compile.compiler import compile_text

    text = kernel(
        "    %0 = arith.constant 0 : index\n    %v = vector.load %a[%0] : memref<?xf32>, vector<512xf32>\n"
        "    vector.store %v, %b[%0] : memref<?xf32>, vector<512xf32>",
        "%a: memref<?xf32>, %b: memref<?xf32>",
        "attributes {known_block_size = array<i32: 16, 1, 64>, known_grid_size = array<i32: 2147483647, 65535, 65535>, "
        "known_cluster_size = array<i32: 16, 1, 1>}",
    )
    assert "ld.global" in compile_text(text.replace("@k", "@" + "k" * 4096)).ptx


UNREADABLE = """
    import sys
    from tma_mlir.compile.compiler import CompileError, compile_text
    text = open(sys.argv[1]).read()
    for old, new in (("array<i64: 8, 256>", "array<i16: 8, 256>"), ("expect_tx", 'expect_tx, cache = "\\\\FF"'),
                     ("expect_tx", "expect_tx, plan = [array<i16: 1>]")):
        assert old in text
        try:
            compile_text(text.replace(old, new))
        except CompileError as error:
            print(str(error).splitlines()[0])
"""


def test_attributes_that_the_bindings_cannot_read_are_located():
    example = FOLDER.parents[1] / "examples" / "copy_8x256.mlir"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(UNREADABLE), str(example)], capture_output=True, text=True
    )
    first, second, third = done.stdout.splitlines()
    assert "error: 'tile.copy_async' op" in first
    assert second.endswith(
        "op has an attribute 'cache' that cannot be read: it is not UTF-8. Correct it, or take it out"
    )
    assert "error: 'tile.copy_async' op" in third
    assert (done.returncode, done.stderr) == (0, "")
