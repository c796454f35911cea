"""Every example on the GPU: the bytes are the simulator's, from a saved file without MLIR too, and under
compute-sanitizer."""

import functools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.mlir"))


@functools.cache
def compiled(path):
    compiler = pytest.importorskip("tma_mlir.compile.compiler", reason="no MLIR here", exc_type=ImportError)
    return compiler.compile_file(path, keep=compiler.STAGES)


def runnable(path):
    """(kernel, arguments) of each kernel in the file that says its grid and block."""
    from tma_mlir.run.arguments import make_arguments
    from tma_mlir.runtime import Kernel

    module = compiled(path)
    for signature in module.signatures.values():
        if signature.grid is not None and signature.block is not None:
            plans = [copy.plan for copy in module.plans if copy.kernel == signature.name]
            # Where the order of a sum matters, the example's RUN line gives numbers whose sums are exact.
            given = {int(index): text for index, text in re.findall(r"--arg (\d+)=(\S+)", path.read_text())}
            yield Kernel(module.cubin, signature, ptx=module.ptx, plans=plans), make_arguments(signature, given)


def simulated(path, kernel, values):
    from tma_mlir.run.execute import run_simulator
    from tma_mlir.run.reference import copy_arguments, lower_reference

    results = copy_arguments(values)
    run_simulator(compiled(path).texts["lowered"], kernel.signature, results)
    for descriptors in lower_reference(path.read_text(), path.name)[2][kernel.signature.name]:
        results[descriptors] = 0  # bytes that are the chip's own
    return results


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_gpu_and_simulator_agree(path):
    for kernel, values in runnable(path):
        expected = simulated(path, kernel, values)
        kernel(*values)
        for found, wanted in zip(values, expected, strict=True):
            if isinstance(wanted, np.ndarray):
                assert isinstance(found, np.ndarray)
                assert found.tobytes() == wanted.tobytes()


RUN_SAVED = """
import sys
sys.modules["mlir"] = None
import numpy as np
from tma_mlir.runtime import Kernel
for folder in sys.argv[1:]:
    given = np.load(folder + "/arguments.npz", allow_pickle=True)["values"]
    Kernel.load(folder + "/kernel.tma")(*given)
    np.savez(folder + "/results.npz", values=given)
"""


def save(folder, kernel, values):
    folder.mkdir()
    kernel.save(folder / "kernel.tma")
    packed = np.empty(len(values), object)
    for index, value in enumerate(values):
        packed[index] = value
    np.savez(folder / "arguments.npz", values=packed)
    return str(folder)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_saved_kernel_runs_where_mlir_cannot_be_imported(path, tmp_path):
    for kernel, values in runnable(path):
        folder = save(tmp_path / kernel.signature.name, kernel, values)
        subprocess.run([sys.executable, "-c", RUN_SAVED, folder], check=True)
        results = np.load(folder + "/results.npz", allow_pickle=True)["values"]
        for found, wanted in zip(results, simulated(path, kernel, values), strict=True):
            if isinstance(wanted, np.ndarray):
                assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "synccheck"])
def test_sanitizer_finds_nothing(tool, tmp_path):
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not Path(sanitizer).exists():
        pytest.skip("no compute-sanitizer here")
    folders = [
        save(tmp_path / f"{path.stem}_{kernel.signature.name}", kernel, values)
        for path in EXAMPLES
        for kernel, values in runnable(path)
    ]
    command = [sanitizer, "--tool", tool, "--error-exitcode", "9", sys.executable, "-c", RUN_SAVED, *folders]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


PROGRAMS = sorted((Path(__file__).parents[3] / "examples" / "python").glob("*.py"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_verify_their_results(path):
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if done.stdout.startswith("skipped: "):
        pytest.skip(done.stdout.strip())
    assert done.stdout.startswith("verified: "), done.stdout
