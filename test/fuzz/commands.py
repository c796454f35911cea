"""Random command lines of tma-run, tma-opt and tma-explain, with files that are nearly right.

Right are exit code 0, or 1 to 3 with one error that says what is wrong; never a traceback, an internal error, or an
error without a text. The commands run in this process, without the child that guards them from MLIR's aborts: the
runner sees those.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from failure import Failure, of_exception

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ("copy_8x256", "load_f32", "store_tile", "load_rank3", "python/copy_tiles")
KERNEL_OF_EVERYTHING = """
gpu.module @kernels {
  gpu.func @k(%i: i32, %f: f32, %b: bf16, %p: !llvm.ptr, %v: vector<2xf32>, %m: memref<4x?xf32, strided<[?, 1]>>,
              %n: memref<f16>, %o: i1) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    gpu.return
  }
}
"""


@dataclass(frozen=True)
class Case:
    """``program``: run, opt or explain. FOLDER in ``arguments`` is where ``files`` (name, content) are made."""

    seed: int
    program: str
    arguments: tuple[str, ...]
    files: tuple[tuple[str, bytes], ...]


def cases(seed: int) -> Case:
    rng = random.Random(seed)
    files = tuple((f"f{i}.npy", array_file(rng)) for i in range(rng.choice((0, 1, 1, 2))))
    source = rng.choice([f"EXAMPLES/{name}.mlir" for name in EXAMPLES] + ["FOLDER/k.mlir"] * 3)
    if rng.random() < 0.04:
        source = rng.choice(
            ("FOLDER", "FOLDER/none.mlir", "", "-x", "FOLDER/f0.npy", "/dev/null", "a\udcffb", "x" * 300)
        )
    program = rng.choice(("run", "run", "run", "run", "run", "opt", "explain"))
    make = {"run": _run, "opt": _opt, "explain": _explain}[program]
    arguments = [source, *make(rng)]
    if rng.random() < 0.2:
        arguments.insert(rng.randrange(len(arguments) + 1), rng.choice(_NOISE))
    if rng.random() < 0.1:
        rng.shuffle(arguments)
    return Case(seed, program, tuple(arguments), files)


def check(case: Case) -> Failure | None:
    folder = tempfile.mkdtemp(prefix="tma_fuzz_")
    try:
        Path(folder, "k.mlir").write_text(KERNEL_OF_EVERYTHING)
        for name, content in case.files:
            Path(folder, name).write_bytes(content)
        places = {"FOLDER": folder, "EXAMPLES": str(ROOT / "examples")}
        arguments = [_placed(each, places) for each in case.arguments]
        return _ran(case, arguments)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _placed(text: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        text = text.replace(name, place)
    return text


def _ran(case: Case, arguments: list[str]) -> Failure | None:
    main = _program(case.program)
    out, err = (io.TextIOWrapper(io.BytesIO(), errors="surrogateescape") for _ in range(2))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(arguments)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 99
    except Exception as error:
        found = of_exception(error)
        return Failure(found.kind, f"{case}\n{found.detail}")
    err.flush()
    text = err.buffer.getvalue().decode(errors="replace")  # type: ignore[attr-defined]
    if "Traceback" in text or "internal error" in text:
        return Failure("internal error", f"{case}\n{text}")
    if code not in (0, 1, 2, 3):
        return Failure(f"exit code {code}", f"{case}\n{text}")
    errors = [line for line in text.splitlines() if "error: " in line]
    if code and not any(line.partition("error: ")[2].strip() for line in errors):
        return Failure(f"exit code {code} without an error", f"{case}\n{text}")
    if len(errors) > 3 and case.program == "run":
        return Failure("more than three errors", f"{case}\n{text}")
    return None


@cache
def _program(name: str):
    os.environ["TMA_NO_FORK"] = "1"
    from tma_mlir.cli import explain, opt, run

    return {"run": run.main, "opt": opt.main, "explain": explain.main}[name]


_NOISE = (
    "--nonsense", "-o", "--grid", "--grid=", "--grid=x", "--grid=0", "--grid=1x1x1x1", "--grid=65536x65536", "-1", "--",
    "--grid=99999999999999999999", "--block=0", "--block=1025", "--block=32x32x2", "--cluster=3", "--cluster=0",
    "--chip=sm_80", "--chip=", "--chip=sm_100a", "--schedules=0", "--schedules=-1", "--schedules=x", "--emit=x",
    "--emit=cubin", "--emit=,", "--out-dir=/dev/null/x", "--kernel=none", "--kernel=", "--device=gpu", "--check=x",
    "--trace=/nowhere/t.json", "--trace=FOLDER", "--version", "--help", "--arg", "--arg=", "--arg=0", "--arg==",
    "--schedules=²",
    "--arg=0=", "--arg=-1=5", "--arg=99=zeros", "--arg=99999999999999999999=zeros", "--arg=²=zeros", "--out=0=",
    "--out=0=FOLDER", "--out=0=/nowhere/x.npy", "--out=9=FOLDER/x.npy", "--expect=0=FOLDER/none.npy",
    "--expect=9=x", "\x00",
)  # fmt: skip


def value_text(rng: random.Random) -> str:
    """What may stand behind ``--arg I=``."""
    file = rng.choice(("FOLDER/f0.npy", "FOLDER/f0.npy", "FOLDER/f1.npy"))
    kind = rng.random()
    if kind < 0.3:
        window = rng.choice(("", "", "[0]", "[0:2]", "[0:2,0:2]", "[::2]", "[::-1]", "[]", "[x]", "[9:1]", "[0,0,0,0]",
                             "[-1]", "[::0]", "[1:99999999999999999999]", "[99999999999999999999]", "[0:2",
                             "[...]"))  # fmt: skip
        return file + window + rng.choice(("", "", ":pitch=64", ":pitch=0", ":pitch=x", ":rtol=1", ":pitch=²",
                                           ":pitch=1e3",
                                           ":pitch=99999999999999999999", ":"))  # fmt: skip
    if kind < 0.6:
        name = rng.choice(("zeros", "iota", "random:1", "small:2", "random:x", "random:-1", "small:", "ones",
                           "zeros:1", "iota:",
                           "random:99999999999999999999999", "random:²", "RANDOM", ""))  # fmt: skip
        shape = rng.choice(("", "", "@4x8", "@8x256", "@64x64", "@4x8xf32", "@16xf32", "@0x8", "@-1x8", "@", "@x",
                            "@4x",
                            "@4xx8", "@99999999999x99999999999", "@4x8xnone", "@xf32", "@4x8xi4", "@²x8", "@4 x 8",
                            "@1_0x8",
                            "@0xf32", "@99999999999x99999999999xf32", "@4x99999999999", "@99999999999", "@8",
                            "@9999999999xi8", "@99999999999999999999xf32", "@1" + "x1" * 70,
                            "@1" + "x1" * 70 + "xf32"))  # fmt: skip
        return name + shape + rng.choice(("", "", ":pitch=64", ":pitch=48", ":pitch=3", ":nonsense=1"))
    return rng.choice(("0", "1", "-1", "1.5", "nan", "inf", "1e400", "0x10", "0b1", "1_000", "true", "False", "1,2",
                       "1,2,3",
                       "1,", ",", "nan,inf", "1e400,1", "99999999999999999999", "9" * 5000, "-0", "٣", "1.5f", " 1",
                       "1 ",
                       "None", "1j", "\udcff", "a\x00b", "x" * 1000))  # fmt: skip


def _run(rng: random.Random) -> list[str]:
    given: dict[int, str] = {}
    if rng.random() < 0.6:  # all that the kernel of everything needs
        given = {0: "1", 1: "2", 2: "3", 3: "zeros@8xf32", 4: "1,2", 5: "iota@4x8", 7: "1"}
    for index in rng.sample(range(8), rng.choice((0, 1, 1, 2, 4))):
        given[index] = value_text(rng)
    made = ["--device=sim", *(f"--arg={index}={value}" for index, value in given.items())]
    for flag in ("--grid", "--block", "--cluster"):
        if rng.random() < 0.25:
            made.append(f"{flag}={rng.choice(('1', '1', '1x1', '1,1,1', '2', '32', '32x1', '0', '1024', '1x2x3'))}")
    if rng.random() < 0.3:
        made.append(f"--out={rng.randrange(3)}=FOLDER/out.{rng.choice(('npy', 'bin'))}")
    if rng.random() < 0.3:
        tolerance = rng.choice(
            ("", ":rtol=0.1", ":atol=1", ":rtol=x", ":rtol=-1", ":rtol=nan", ":atol=inf", ":rtol=0.1:atol=0")
        )
        window = rng.choice(("", "", "[0]", "[0:2]", "[9]", "[0,0,0,0]", "[x]"))
        made.append(f"--expect={rng.randrange(6)}=FOLDER/f0.npy{window}{tolerance}")
    if rng.random() < 0.2:
        made.append(rng.choice(("--schedules=2", "--check=none", "--report-access", "--trace=FOLDER/t.json",
                                "--emit=ptx,plan",
                                "--emit=cubin,lowered", "--out-dir=FOLDER/made", "--chip=sm_90",
                                "--kernel=k")))  # fmt: skip
    return made


def _opt(rng: random.Random) -> list[str]:
    return rng.sample((
        "--tile-verify", "--tile-plan-copies", "--tile-plan-copies=chip=sm_100a", "--tile-plan-copies=chip=x",
        "--convert-tile-to-nvgpu", "--canonicalize", "--cse", "--verify-diagnostics", "--split-input-file",
        "-o=FOLDER/o",
        "-o", "FOLDER/out.mlir", "--pass-pipeline=builtin.module(cse)", "--pass-pipeline=builtin.module(",
        "--mlir-timing",
        "--pass-pipeline=", "--mlir-print-ir-after-all", "--emit-bytecode", "--verify-each=0", "--list-passes",
        "--help",
        "--mlir-print-debuginfo", "--allow-unregistered-dialect", "--tile-plan-copies=chip", "--tile-plan-copies={",
    ), rng.choice((0, 1, 2, 3)))  # fmt: skip


def _explain(rng: random.Random) -> list[str]:
    return rng.sample(
        ("--json", "--chip=sm_100a", "--chip=x", "--format=json", "--copy=0", "-o", "FOLDER/o"), rng.choice((0, 1, 2))
    )


def array_file(rng: random.Random) -> bytes:
    """A ``.npy`` file, one in two with something wrong."""
    kinds = (
        "f2",
        "f4",
        "f8",
        "i1",
        "i4",
        "i8",
        "u2",
        "?",
        "c8",
        ">f4",
        "V2",
        "S3",
        "U2",
        "M8[s]",
        [("a", "i4"), ("b", "f4")],
    )
    shape = rng.choice(((8, 256), (64, 64), (4, 8), (16,), (), (0, 8), (4, 4, 4), (128, 64), (1, 1)))
    array = np.zeros(shape, rng.choice(kinds))
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asfortranarray(array) if rng.random() < 0.2 else array,
                              version=rng.choice((None, (1, 0), (2, 0), (3, 0))))  # fmt: skip
    data = file.getvalue()
    if rng.random() < 0.5:
        return data
    how = rng.randrange(6)
    if how == 0:
        return data[: rng.randrange(len(data))]
    if how == 1:
        changed = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(min(len(data), 128))] = rng.randrange(256)
        return bytes(changed)
    if how == 2:
        return rng.choice((b"", b"\x93NUMPY", rng.randbytes(200), b"PK\x03\x04" + bytes(50), b"\x80\x04N."))
    header = rng.choice((
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 4, }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (4,), }",
        "{'descr': 'nonsense', 'fortran_order': False, 'shape': (4,), }", "{'descr': '<f4', 'shape': (4,)}", "[]",
        "5", "None",
        "{'descr': '<f1', 'fortran_order': False, 'shape': (4,), }",
        "{'descr': '|V0', 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '<f1', 'fortran_order': False, 'shape': (-1, 3), }",
        "{'descr': '<f1', 'fortran_order': 5, 'shape': 'x'}",
        "{'descr': [], 'fortran_order': False, 'shape': (4,), }", "{" * 500, "(" * 100000, "__import__('os')",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (True, 4), }", "{1: 2, 'descr': '<f4'}",
        "'" + "x" * 20000 + "'",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1, " * 70 + "), }",
        "{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (4,)}",
    )).encode()  # fmt: skip
    size = len(header).to_bytes(2 if how == 3 and len(header) < 65536 else 4, "little")
    return b"\x93NUMPY" + (b"\x01\x00" if len(size) == 2 else b"\x02\x00") + size + header + bytes(64)
