import ast
import contextlib
import copy
import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import cast

import pytest

from support.processes import run_python
from tma_mlir.abi.signature import KernelSignature, MemRefArgument, ScalarArgument, TensorMapArgument
from tma_mlir.assembler import AssemblerError, Resources
from tma_mlir.codec import from_data, to_data
from tma_mlir.compile.compiler import CompileError
from tma_mlir.diagnostics import Diagnostic, Place
from tma_mlir.dtypes import dtype
from tma_mlir.layout.algebra import row_major
from tma_mlir.layout.expr import Expr, Symbol, exact_div
from tma_mlir.plan import CopyRequest, Direction, Region, Variant
from tma_mlir.plan.copy_plan import Condition, Coordinate, CopyPlan, IssueGroup
from tma_mlir.plan.findings import Finding, Status
from tma_mlir.plan.tensor_map import OobFill, Swizzle, TensorMap
from tma_mlir.runtime import ArgumentTypeError, CudaError, DescriptorError, Kernel, artifact

ROWS = Expr.of(Symbol("arg0.dim0", low=0))
PITCH = Expr.of(Symbol("arg0.stride0", low=1, divisor=8))
FINDING = Finding("stride alignment", Status.UNKNOWN, "pitch unknown", "a multiple of 16 B", "Pad the row")
TENSOR_MAP = TensorMap(
    data_type="BFLOAT16",
    dims=(256, ROWS),
    strides_bytes=(PITCH * 2,),
    box=(64, 8),
    element_strides=(1, 1),
    swizzle=Swizzle.B128,
    oob_fill=OobFill.NAN,
    base_offset_bytes=exact_div(PITCH * 4, 8),
)
CHECK = Condition(cast(Expr, PITCH * 2), FINDING, divisor=16, low=16)
SIGNATURE = KernelSignature(
    name="copy",
    tensor_maps=(TensorMapArgument(argument=0, tensor_map=TENSOR_MAP, checks=(CHECK,)),),
    arguments=(MemRefArgument(dtype("bf16"), (None, 256), (None, 1), None), ScalarArgument(dtype("i32"))),
    bare_pointers=False,
    grid=(4, 1, 1),
    block=(128, 1, 1),
    cluster=(2, 1, 1),
    dynamic_shared_bytes=65536,
)
REGION = Region((0, 0), (8, 64))
REQUEST = CopyRequest(
    dtype("bf16"), Direction.LOAD, (64, 256), row_major((64, 256)), REGION, (8, 64), row_major((8, 64)), REGION
)
PLAN = CopyPlan(
    Variant.TMA,
    REQUEST,
    (TENSOR_MAP,),
    (IssueGroup(0, (Coordinate(0), Coordinate(ROWS * 8, 4))),),
    transaction_bytes=1024,
)


def test_signatures_and_plans_survive_json():
    for value in (SIGNATURE, PLAN):
        assert from_data(type(value), json.loads(json.dumps(to_data(value)))) == value


def test_a_saved_kernel_is_the_same_kernel(tmp_path):
    kernel = Kernel(b"\x7fELF", SIGNATURE, ptx="// ptx", plans=(PLAN,), chip="sm_90a", resources=Resources(32, 1, 4104))
    kernel.save(tmp_path / "copy.tma")
    loaded = Kernel.load(tmp_path / "copy.tma")
    for name in ("cubin", "signature", "ptx", "plans", "chip", "resources"):
        assert getattr(loaded, name) == getattr(kernel, name)


def test_the_same_kernel_gives_the_same_file(tmp_path):
    kernel = Kernel(b"\x7fELF", SIGNATURE)
    kernel.save(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == kernel.to_bytes() == Kernel.from_bytes(kernel.to_bytes()).to_bytes()


def test_loading_needs_no_mlir(tmp_path):
    Kernel(b"\x7fELF", SIGNATURE).save(tmp_path / "copy.tma")
    code = (
        "import sys; sys.modules['mlir'] = None\n"
        "from tma_mlir.runtime import Kernel\n"
        f"print(Kernel.load({str(tmp_path / 'copy.tma')!r}).signature.name)"
    )
    done = run_python(code)
    assert done.stdout.strip() == "copy", done.stderr


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("no zip")
    with pytest.raises(ValueError, match="is not a saved kernel"):
        Kernel.load(tmp_path / "text")
    with zipfile.ZipFile(tmp_path / "zip", "w") as file:
        file.writestr("kernel.json", json.dumps({"format": 99}))
        file.writestr("kernel.cubin", b"")
        file.writestr("kernel.ptx", b"")
    with pytest.raises(ValueError, match="has format 99, this version reads 3"):
        Kernel.load(tmp_path / "zip")


def rewritten(data: bytes, **parts: bytes) -> bytes:
    """The file with other parts, by the first letters of their names."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            new.writestr(name, parts.get(name.partition(".")[2], old.read(name)), zipfile.ZIP_DEFLATED)
    return made.getvalue()


SAVED = Kernel(b"\x7fELF" + bytes(range(256)), SIGNATURE, ptx=".version 8.6", chip="sm_90a").to_bytes()


def test_every_byte_counts():
    """One bit at every place: what is loaded is what was saved, anything else is a ValueError that names the file."""
    whole, refusals = Kernel.from_bytes(SAVED), []
    for at in range(len(SAVED)):
        damaged = bytearray(SAVED)
        damaged[at] ^= 1 << at % 8
        try:
            kernel = Kernel.from_bytes(bytes(damaged), "f.tma")
        except ValueError as error:
            refusals.append(str(error))
        else:  # a date, say
            assert (kernel.cubin, kernel.signature, kernel.ptx) == (whole.cubin, whole.signature, whole.ptx)
    assert len(refusals) > len(SAVED) // 2
    assert all(each.startswith("f.tma is not a saved kernel: ") for each in refusals)
    for end in range(0, len(SAVED), 7):
        with pytest.raises(ValueError, match="is not a saved kernel"):
            Kernel.from_bytes(SAVED[:end])


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"cubin": b"\x7fELF"}, "changed or damaged after it was saved"),
        ({"ptx": b".version 8.7"}, "changed or damaged after it was saved"),
        ({"json": b"null"}, "not a dictionary"),
        ({"json": b"[" * 100_000}, "is not a saved kernel"),
        ({"json": json.dumps({"format": 2}).encode()}, "has format 2, this version reads 3. Save the kernel again"),
        ({"cubin": bytes(257 << 20)}, "has more than 256 MiB"),
    ],
    ids=["cubin", "ptx", "null", "nested", "older", "bomb"],
)
def test_other_content_is_refused(parts, says):
    with pytest.raises(ValueError, match=says):
        Kernel.from_bytes(rewritten(SAVED, **parts))


def test_edited_entries_are_refused_even_with_a_right_seal():
    with zipfile.ZipFile(io.BytesIO(SAVED)) as file:
        parts = {name: file.read(name) for name in file.namelist() if "seal" not in name}
    recipe = json.loads(parts["kernel.json"])
    for name in recipe:
        for value in (None, 1.5, [], {}, "x", -1, [[]], {"kind": []}):
            changed = {**parts, "kernel.json": json.dumps({**recipe, name: value}).encode()}
            made = io.BytesIO()
            with zipfile.ZipFile(made, "w") as file:
                for each, data in {**changed, "kernel.seal": artifact._seal(changed)}.items():
                    file.writestr(each, data)
            with contextlib.suppress(ValueError):
                Kernel.from_bytes(made.getvalue())


def test_kernels_and_errors_are_copied_by_value():
    kernel = Kernel.from_bytes(SAVED)
    for other in (copy.copy(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert other is not kernel
        assert other.to_bytes() == SAVED
    place = Place("f.mlir", 1, 2)
    for error in (
        CompileError([Diagnostic("error", place, "x")]),
        AssemblerError("message", chip="sm_90a", log="log"),
        ArgumentTypeError("k", ["a", "b"]),
        DescriptorError("k", ["a"]),
        CudaError("launch", "CUDA_ERROR_X", 7, "there"),
    ):
        other = pickle.loads(pickle.dumps(error))
        assert (type(other), str(other)) == (type(error), str(error))
        assert {**vars(other)} == {**vars(error)}


def test_nothing_is_read_that_could_be_a_program():
    """No module of the package imports pickle or its like, and NumPy is told not to."""
    banned = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
    for file in Path(artifact.__file__).parents[1].rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names = {each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = {str(node.module).partition(".")[0]}
            else:
                names = set()
                if isinstance(node, ast.Call) and ast.unparse(node.func) in ("np.load", "numpy.load"):
                    assert "allow_pickle=False" in ast.unparse(node), file
            assert not names & banned, file
