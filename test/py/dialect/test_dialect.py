"""Loading the dialect, its operation and attribute views, and building with them."""

import pytest

from support.processes import run_python
from tma_mlir.bindings import ir
from tma_mlir.dialect import irdl_path, load, make_context
from tma_mlir.dialect.attributes import AtomsAttr, LayoutAttr, SwizzleAttr
from tma_mlir.dialect.memrefs import read_memref
from tma_mlir.dialect.regions import shared_sizes
from tma_mlir.dialect.tile import DYNAMIC, CopyAsyncOp
from tma_mlir.dialect.verifier import problems
from tma_mlir.plan import Swizzle

FUNCTION = """
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @f(%a: memref<64x256xf16>, %s: memref<8x256xf16, 3>, %b: !barrier, %i: index) { return }
"""


@pytest.fixture
def block():
    context = make_context()
    with context, ir.Location.unknown():
        module = ir.Module.parse(FUNCTION)
        body = module.body.operations[0].regions[0].blocks[0]
        with ir.InsertionPoint(body.operations[0]):
            yield body


def test_loading_twice_is_harmless():
    context = make_context()
    load(context)
    assert ir.Attribute.parse('#tile.swizzle<"64B">', context)


def test_the_definition_is_a_file_that_other_tools_can_load():
    assert "irdl.dialect @tile" in irdl_path().read_text()


def test_builder_makes_a_copy_with_static_and_dynamic_offsets(block):
    source, tile, barrier, index = block.arguments
    copy = CopyAsyncOp(
        source, tile, sizes=[8, 256], source_offsets=[index, 0], mbarrier=barrier, mbarrier_index=index,
        attributes={"destination_layout": AtomsAttr.get(Swizzle.B128)},
    )  # fmt: skip
    assert copy.operation.verify()
    assert problems(copy) == []
    assert list(ir.DenseI64ArrayAttr(copy.attributes["static_source_offsets"])) == [DYNAMIC, 0]
    assert copy.source_offsets == [index, 0]
    assert copy.destination_offsets == [0, 0]
    assert copy.predicate is None


def test_parsed_copies_come_back_as_views(block):
    source, tile, barrier, index = block.arguments
    CopyAsyncOp(source, tile, sizes=[8, 256], mbarrier=barrier, mbarrier_index=index)
    text = str(block.owner.parent)
    reparsed = ir.Module.parse(text)
    copy = reparsed.body.operations[0].regions[0].blocks[0].operations[0]
    assert isinstance(copy, CopyAsyncOp)
    assert copy.sizes == [8, 256]


def test_attribute_views_read_what_their_builders_wrote(block):
    layout = LayoutAttr(LayoutAttr.get([8, 4, 64], [64, 512, 1]))
    assert (layout.extents, layout.strides) == ((8, 4, 64), (64, 512, 1))
    for mode in Swizzle:
        assert SwizzleAttr(SwizzleAttr.get(mode)).mode is mode
    assert AtomsAttr.isinstance(AtomsAttr.get(Swizzle.B32))
    assert not AtomsAttr.isinstance(SwizzleAttr.get(Swizzle.B32))


@pytest.mark.parametrize(
    ("text", "space", "strides", "offset"),
    [
        ("memref<8x4xf32>", "global", (4, 1), 0),
        ("memref<8x4xf32, 1>", "global", (4, 1), 0),
        ("memref<8x4xf32, #gpu.address_space<global>>", "global", (4, 1), 0),
        ("memref<8x4xf32, 3>", "shared", (4, 1), 0),
        ("memref<8x4xf32, strided<[16, 2], offset: ?>, #gpu.address_space<workgroup>>", "shared", (16, 2), None),
        ("memref<?x4xf32, strided<[?, 1]>, 5>", "5 : i64", (None, 1), 0),
    ],
)
def test_memrefs_are_read_with_space_strides_and_offset(text, space, strides, offset):
    with make_context():
        memref = read_memref(ir.Type.parse(text))
    assert memref is not None
    assert (memref.space, memref.strides, memref.offset) == (space, strides, offset)


def test_a_memref_without_strides_is_not_read():
    with make_context():
        assert read_memref(ir.Type.parse("memref<*xf32>")) is None
        assert read_memref(ir.Type.parse("memref<8xf32, affine_map<(d0) -> (d0 floordiv 2)>>")) is None


@pytest.mark.parametrize(
    ("sizes", "shape", "starts", "expected"),
    [
        ([8, 64], [8, 64], [], [8, 64]),
        ([1, 1, 8, 64], [16, 64], [], [8, 64]),
        ([1, 8, 64], [8, 64], [], [8, 64]),
        ([8, 1, 64], [8, 64], [], [8, 64]),
        ([8, 64], [1, 8, 64], [], [1, 8, 64]),
        ([2, 8, 64], [8, 64], [], None),
        # Dropped on the left as long as the rest fits, and elsewhere where only that fits.
        ([1, 4, 1], [4, 4], [], [4, 1]),
        ([1, 4, 1], [1, 4], [], [1, 4]),
        ([1, 4, 1], [4, 4], [1, 0], [1, 4]),
        ([1, 4, 1], [4, 4], ["from 0 on, as far as is known", 0], [4, 1]),
        ([1, 1, 2, 1, 56], [1, 1, 2, 56], [], [1, 1, 2, 56]),
        ([8, 1, 1, 64, 1], [8, 64, 1], [], [8, 64, 1]),
        ([1, 1, 8, 1, 64], [1, 8, 64], [], [1, 8, 64]),
        # What never fits is for the caller to report.
        ([1, 9, 1], [4, 4], [], [9, 1]),
    ],
)
def test_unit_sizes_are_dropped_where_the_rest_fits_or_added_on_the_left(sizes, shape, starts, expected):
    assert shared_sizes(sizes, shape, starts) == expected


def test_importing_the_package_needs_neither_mlir_nor_cuda():
    code = (
        "import sys\nsys.modules['mlir'] = None\nsys.modules['cuda'] = None\n"
        "import tma_mlir\nimport tma_mlir.plan, tma_mlir.layout\n"
        "print(tma_mlir.irdl_path())"
    )
    result = run_python(code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip().endswith("tile.irdl.mlir")
