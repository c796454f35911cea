"""The self-check finds plans that are wrong."""

from dataclasses import replace

import pytest

from tma_mlir.dtypes import dtype
from tma_mlir.layout import Swizzle, address_swizzle, atom_layout, row_major
from tma_mlir.plan import Coordinate, CopyRequest, Direction, Loop, Region, plan_copy
from tma_mlir.plan.check import check_plan

REQUEST = CopyRequest(
    dtype("f16"),
    Direction.LOAD,
    (100, 256),
    row_major((100, 256)),
    Region((40, 64), (64, 128)),
    (64, 128),
    atom_layout((64, 128), 2, Swizzle.B128),
    Region((0, 0), (64, 128)),
    address_swizzle(Swizzle.B128),
)
PLAN = plan_copy(REQUEST)
MAP, GROUP = PLAN.tensor_maps[0], PLAN.groups[0]


def test_the_plan_is_right():
    assert check_plan(REQUEST, PLAN) == []


@pytest.mark.parametrize(
    "change",
    [
        {"swizzle": Swizzle.B64},
        {"box": (64, 64, 1)},
        {"box": (64, 32, 2)},
        {"strides_bytes": (512, 256)},
        {"dims": (64, 128, 4)},
        {"base_offset_bytes": 16},
        {"box": (4, 64, 2)},
        {"box": (64, 257, 2)},
        {"strides_bytes": (520, 128)},
    ],
)
def test_a_wrong_descriptor_is_found(change):
    assert check_plan(REQUEST, replace(PLAN, tensor_maps=(replace(MAP, **change),)))


@pytest.mark.parametrize(
    "change",
    [
        {"coordinates": (Coordinate(0), Coordinate(41), Coordinate(1))},
        {"coordinates": (Coordinate(4), Coordinate(40), Coordinate(1))},
        {"shared_offset_bytes": 128},
        {"shared_offset_bytes": 64},
        {"loops": (Loop(2, (0, 0, 1), 128),)},
    ],
)
def test_a_wrong_instruction_is_found(change):
    assert check_plan(REQUEST, replace(PLAN, groups=(replace(GROUP, **change),)))


def test_stores_are_checked_byte_by_byte():
    store = replace(REQUEST, direction=Direction.STORE)
    plan = plan_copy(store)
    assert check_plan(store, plan) == []
    assert check_plan(store, replace(plan, tensor_maps=(replace(plan.tensor_maps[0], dims=(64, 104, 4)),)))
    assert check_plan(replace(store, reduction="add"), replace(plan, groups=plan.groups * 2))
