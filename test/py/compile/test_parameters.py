"""A parameter that PTX cannot take is the same error from every entry; LLVM would end the process for some."""

import subprocess
import sys

import pytest

KERNEL = """gpu.module @m {{
  gpu.func @k(%out: memref<4xf32>, %p: {}) kernel
      attributes {{known_block_size = array<i32: 1, 1, 1>, known_grid_size = array<i32: 1, 1, 1>}} {{
    gpu.return
  }}
}}
"""
COMPILE = "import sys, tma_mlir; tma_mlir.compile(sys.argv[1], 'sm_90a', cache=False)"
ENTRIES = {
    "tma-opt": ["-m", "tma_mlir.cli.opt", "--tile-to-cubin", "-o", "/dev/null", "{}"],
    "tma-run": ["-m", "tma_mlir.cli.run", "--device", "sim", "--arg", "0=zeros", "--arg", "1=0", "{}"],
    "compile": ["-c", COMPILE, "{}"],
}
REFUSED = {
    "i24": "is i24; needed: an integer of 1, 8, 16, 32, 64, 128 or 256 bits. Use i32 and truncate it in the kernel",
    "i65": "is i65; needed: an integer of 1, 8, 16, 32, 64, 128 or 256 bits. Use i128 and truncate it in the kernel",
    "f80": "is f80; needed: a memref, a pointer, a number, or a vector, complex number, array or struct of numbers. "
    "Use f64",
    "!llvm.struct<()>": "is !llvm.struct<()>; needed: at least one byte. Drop the parameter",
    "memref<4xi4>": "is memref<4xi4>, which has i4; needed: an integer of 1, 8, 16, 32, 64, 128 or 256 bits. "
    "Use i8 and truncate it in the kernel",
}


@pytest.mark.parametrize("type_", REFUSED)
@pytest.mark.parametrize("entry", ENTRIES)
def test_the_error_is_the_same_everywhere(entry, type_, tmp_path):
    path = tmp_path / "kernel.mlir"
    path.write_text(KERNEL.format(type_))
    command = [sys.executable, *(each.format(path) for each in ENTRIES[entry])]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    column = KERNEL.splitlines()[1].index("%p") + 1
    assert [line.partition("CompileError: ")[2] or line for line in errors] == [
        f"{path}:2:{column}: error: kernel parameter 1 {REFUSED[type_]}"
    ]
