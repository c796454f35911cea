"""The user's own descriptor: one instruction, checked, never repaired."""

from dataclasses import replace

import pytest

from tma_mlir.dtypes import dtype
from tma_mlir.layout import Layout, Swizzle, address_swizzle, row_major
from tma_mlir.plan import (
    CopyRequest,
    Direction,
    ExplicitDescriptor,
    PlanDeclined,
    Region,
    Tile,
    Variant,
    described,
    plan_copy,
)

REQUEST = CopyRequest(
    dtype("f16"),
    Direction.LOAD,
    (100, 256),
    row_major((100, 256)),
    Region((60, 64), (64, 64)),
    (64, 64),
    row_major((64, 64)),
    Region((0, 0), (64, 64)),
    address_swizzle(Swizzle.B128),
    variant=Variant.TMA_EXPLICIT,
)


def explicit(**changes) -> CopyRequest:
    return replace(REQUEST, kind=Tile(described(REQUEST, **{"box": (64, 64), "swizzle": Swizzle.B128, **changes})))


def test_the_descriptor_asked_for_is_the_one_planned():
    plan = plan_copy(explicit())
    (tensor_map,) = plan.tensor_maps
    assert (tensor_map.dims, tensor_map.box, tensor_map.strides_bytes) == ((256, 100), (64, 64), (512,))
    assert [c.numerator for c in plan.groups[0].coordinates] == [64, 60]
    assert plan.check() == []


def test_dimensions_may_come_in_another_order():
    transposed = replace(
        REQUEST, shared_swizzle=None, global_layout=Layout((100, 256), (1, 112)),
        shared_layout=Layout((64, 64), (1, 64)), global_region=Region((32, 64), (64, 64)),
    )  # fmt: skip
    request = replace(transposed, kind=Tile(described(transposed, (64, 64), order=(1, 0))))
    plan = plan_copy(request)
    assert plan.tensor_maps[0].dims == (100, 256)
    assert plan.check() == []


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"box": (64, 32)}, "same movement"),
        ({"box": (32, 64)}, "same movement"),
        ({"swizzle": Swizzle.NONE}, "same swizzle"),
        ({"dims": (128, 256)}, "same end"),
        ({"dims": (100, 96)}, "same end"),
        ({"order": (1, 0)}, "unit stride"),
    ],
)
def test_a_descriptor_that_does_not_make_the_copy_is_refused(changes, rule):
    with pytest.raises(PlanDeclined, match=f"rule: {rule}"):
        plan_copy(explicit(**changes))


def test_another_start_is_refused():
    descriptor = described(REQUEST, (64, 64), swizzle=Swizzle.B128)
    with pytest.raises(PlanDeclined, match="off by -512 B"):
        plan_copy(replace(REQUEST, kind=Tile(replace(descriptor, starts=(59, 64)))))


def test_a_box_of_more_than_256_is_not_split():
    tall = replace(
        REQUEST, global_shape=(4096, 256), global_layout=row_major((4096, 256)), shared_shape=(512, 64),
        global_region=Region((0, 64), (512, 64)), shared_layout=row_major((512, 64)),
        shared_region=Region((0, 0), (512, 64)),
    )  # fmt: skip
    with pytest.raises(PlanDeclined, match="box dimension 1 has 512 elements"):
        plan_copy(replace(tall, kind=Tile(described(tall, (512, 64), swizzle=Swizzle.B128))))


def test_a_missing_or_lopsided_descriptor_is_refused():
    with pytest.raises(PlanDeclined, match="no descriptor"):
        plan_copy(REQUEST)
    lopsided = ExplicitDescriptor((100, 256), (256, 1), (64,), (60, 64), Swizzle.B128)
    with pytest.raises(PlanDeclined, match="equal ranks"):
        plan_copy(replace(REQUEST, kind=Tile(lopsided)))


def test_a_region_that_crosses_a_tile_boundary_is_not_one_instruction():
    """Four rows in each tile of shared memory, and a region that begins with the last of one."""
    crossing = replace(
        REQUEST, shared_shape=(68, 64), shared_layout=Layout((17, 4, 64), (512, 64, 1)), shared_swizzle=None,
        shared_region=Region((3, 0), (64, 64)),
    )  # fmt: skip
    with pytest.raises(PlanDeclined, match="the region crosses a tile boundary"):
        plan_copy(replace(crossing, kind=Tile(described(crossing, (64, 64)))))
