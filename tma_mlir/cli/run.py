"""``tma-run``: compiles a kernel, runs it once, and says whether the result is what its copies mean."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..chips import CHIPS, DEFAULT_CHIP
from ..sim.command_line import add_options, run_with_options
from .guard import doing, guarded

if TYPE_CHECKING:
    from ..abi.signature import KernelSignature
    from ..compile.compiler import CompiledModule
    from ..run.arguments import Value

EMITS = ("plan", "nvgpu", "lowered", "ptx", "cubin")


class Failure(Exception):
    """Ends the run with exit status 1; the message is for the user."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="tma-run",
        description="Compile a kernel, run it once on a GPU or in the simulator, and check the result byte for byte "
        "against its copies executed by definition.",
        epilog="Grid and block come from the kernel's known_grid_size and known_block_size.",
    )
    made.add_argument("file", type=Path, help="MLIR file with a gpu.module")
    made.add_argument(
        "--chip", default=DEFAULT_CHIP, metavar="C", help=f"one of {', '.join(CHIPS)} (default {DEFAULT_CHIP})"
    )
    made.add_argument(
        "--device", choices=("auto", "gpu", "sim"), default="auto", help="auto: the GPU when there is one"
    )
    made.add_argument("--kernel", metavar="NAME", help="which kernel, where the file has several")
    made.add_argument(
        "--arg", action="append", default=[], metavar="I=VALUE",
        help="argument I: FILE.npy, zeros, iota, random:SEED, small:SEED (-4 to 4); @64x128 gives dynamic shapes, and "
        "@64x128xf32 what a pointer points to (0: nothing); or a number; or the numbers of a vector, complex number, "
        "array or struct in order, as in 1,2.5,3",
    )  # fmt: skip
    made.add_argument("--out", action="append", default=[], metavar="I=FILE.npy", help="write argument I after the run")
    add_options(made)
    made.add_argument("--emit", default="", metavar="LIST", help=f"comma-separated: {','.join(EMITS)}")
    made.add_argument("--out-dir", type=Path, metavar="D", help="folder for what --emit writes (made if missing)")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    return guarded("tma-run", lambda: _main(options))


def _main(options: argparse.Namespace) -> int:
    try:
        return _run(options)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    from ..assembler import AssemblerError
    from ..compile.compiler import STAGES, CompileError, compile_text
    from ..run.arguments import ArgumentError, load_path, make_arguments
    from ..run.report import instruction_lines, plan_lines

    try:
        arguments = _pairs("--arg", options.arg)
        outputs = {index: load_path(text) for index, text in _pairs("--out", options.out).items()}
        emits = _emits(options)
        text = _read(options.file)
        doing(f"{options.file}:1:1")
        compiled = compile_text(text, options.chip, name=str(options.file), keep=STAGES)
        signature = _kernel(compiled, options.kernel)
        values = make_arguments(signature, arguments)
    except (ArgumentError, AssemblerError, CompileError, ValueError) as error:
        raise Failure(_prefixed(str(error))) from None
    unknown = sorted(set(outputs) - set(range(len(values))))
    if unknown:
        raise Failure(f"error: --out {unknown[0]}: kernel @{signature.name} takes {len(values)} arguments")
    for warning in compiled.warnings:
        print(warning, file=sys.stderr)
    _write(compiled, signature, emits, options.out_dir)
    for planned in compiled.plans:
        if planned.kernel == signature.name:
            print("\n".join(plan_lines(planned)))
    for line in instruction_lines(compiled.ptx):
        print(line)
    return _execute(options, text, compiled, signature, values, outputs)


def _execute(
    options: argparse.Namespace,
    text: str,
    compiled: CompiledModule,
    signature: KernelSignature,
    values: list[Value],
    outputs: dict[int, Path],
) -> int:
    import numpy as np

    from ..compile.compiler import CompileError
    from ..run import execute
    from ..run.reference import copy_arguments
    from ..runtime.errors import ArgumentTypeError, DescriptorError, RuntimeFault
    from ..sim.errors import SimulationError

    for name, extent in (("known_grid_size", signature.grid), ("known_block_size", signature.block)):
        if extent is None:
            raise Failure(f"error: @{signature.name} does not say its {name}; add the attribute to the gpu.func")
    device = options.device
    if device == "auto":
        device = "gpu" if execute.gpu_available() else "sim"
    before = copy_arguments(values)
    try:
        # The simulator says more of what goes wrong than a run of the reference, which checks nothing.
        if device == "sim":
            run_with_options(options, compiled.texts["lowered"], signature, values, compiled.chip)
        expected = execute.reference_result(text, str(options.file), signature.name, before)
        if device == "gpu":
            execute.run_gpu(compiled, signature, values)
    except (CompileError, execute.RunError, RuntimeFault, ArgumentTypeError, DescriptorError, SimulationError) as error:
        raise Failure(_prefixed(str(error))) from None
    for index, path in outputs.items():
        np.save(path, np.ascontiguousarray(values[index]))
    mismatches = execute.compare(values, expected)
    where = f"{'the GPU' if device == 'gpu' else 'the simulator'} ({compiled.chip})"
    if mismatches:
        lines = "\n".join(f"  {each}" for each in mismatches)
        raise Failure(f"error: ran @{signature.name} on {where}; the result is not what its copies mean:\n{lines}")
    changed = [each.argument for each in execute.compare(values, before)]
    names = ", ".join(map(str, changed)) or "none"
    print(f"verified: @{signature.name} on {where}; changed arguments: {names}")
    return 0


def _prefixed(message: str) -> str:
    return message if "error:" in message.partition("\n")[0] else f"error: {message}"


def _pairs(flag: str, texts: Sequence[str]) -> dict[int, str]:
    from ..run.arguments import ArgumentError

    pairs: dict[int, str] = {}
    for text in texts:
        index, equals, value = text.partition("=")
        if not equals or not index.isdecimal() or not value:
            raise ArgumentError(f"{flag} {text}: write {flag} 0=VALUE, with the argument's position from 0")
        if int(index) in pairs:
            raise ArgumentError(f"{flag} {text}: argument {index} is given twice")
        pairs[int(index)] = value
    return pairs


def _emits(options: argparse.Namespace) -> list[str]:
    emits = [each for each in options.emit.split(",") if each]
    for each in emits:
        if each not in EMITS:
            raise Failure(f"error: --emit {each}: one of {', '.join(EMITS)}")
    if emits and options.out_dir is None:
        raise Failure("error: --emit needs --out-dir, the folder to write to")
    return emits


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"error: cannot read {path}: {error}") from None


def _kernel(compiled: CompiledModule, name: str | None) -> KernelSignature:
    names = list(compiled.signatures)
    if not names:
        raise ValueError("the module has no gpu.func kernel (other than those its own host code launches)")
    if name is None and len(names) > 1:
        raise ValueError(f"the module has several kernels; choose one with --kernel: {', '.join(names)}")
    if name is not None and name not in names:
        raise ValueError(f"the module has no kernel @{name}; it has {', '.join(names)}")
    return compiled.signatures[name or names[0]]


def _write(compiled: CompiledModule, signature: KernelSignature, emits: Sequence[str], folder: Path | None) -> None:
    if not emits or folder is None:
        return
    stem = signature.name
    contents: dict[str, tuple[str, bytes]] = {
        "plan": (f"{stem}.plan.mlir", compiled.texts["planned"].encode()),
        "nvgpu": (f"{stem}.nvgpu.mlir", compiled.texts["nvgpu"].encode()),
        "lowered": (f"{stem}.lowered.mlir", compiled.texts["lowered"].encode()),
        "ptx": (f"{stem}.ptx", compiled.ptx.encode()),
        "cubin": (f"{stem}.cubin", compiled.cubin.data if compiled.cubin else b""),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for each in emits:
            file, data = contents[each]
            (folder / file).write_bytes(data)
    except OSError as error:
        raise Failure(f"error: cannot write to {folder}: {error}") from None


if __name__ == "__main__":
    sys.exit(main())
