import json
import zipfile
from typing import cast

import pytest

from support.processes import run_python
from tma_mlir.abi.signature import KernelSignature, MemRefArgument, ScalarArgument, TensorMapArgument
from tma_mlir.assembler import Resources
from tma_mlir.codec import from_data, to_data
from tma_mlir.dtypes import dtype
from tma_mlir.layout.algebra import row_major
from tma_mlir.layout.expr import Expr, Symbol, exact_div
from tma_mlir.plan import CopyRequest, Direction, Region, Variant
from tma_mlir.plan.copy_plan import Condition, Coordinate, CopyPlan, IssueGroup
from tma_mlir.plan.findings import Finding, Status
from tma_mlir.plan.tensor_map import OobFill, Swizzle, TensorMap
from tma_mlir.runtime import Kernel

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
    with pytest.raises(ValueError, match="has format 99, this version reads 2"):
        Kernel.load(tmp_path / "zip")
