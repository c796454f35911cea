"""Nothing needs fewer instructions than planned: an exhaustive search over small copies says so."""

import importlib
import random
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tma_mlir.dtypes import dtype
from tma_mlir.layout import Layout, row_major
from tma_mlir.plan import CopyRequest, Direction, PlanDeclined, Region, Variant, plan_copy

TOOL = Path(__file__).resolve().parents[3] / "tools" / "check_optimal.py"


@pytest.fixture(scope="module")
def search():
    sys.path.insert(0, str(TOOL.parent))
    try:
        return importlib.import_module(TOOL.stem)
    finally:
        sys.path.remove(str(TOOL.parent))


@pytest.mark.parametrize("seed", range(25))
def test_no_plan_has_fewer_instructions(search, seed):
    request = search.random_copy(random.Random(seed))
    fewest = search.fewest_instructions(request)
    if fewest is None:
        with pytest.raises(PlanDeclined):
            plan_copy(request)
        return
    plan = plan_copy(request)
    assert plan.check() == []
    assert plan.instruction_count == fewest


ROWS_OF_576_BYTES = CopyRequest(
    dtype("f64"),
    Direction.LOAD,
    (8, 14, 3, 4),
    Layout((8, 14, 3, 4), (4, 32, 448, 1)),
    Region((1, 1, 0, 2), (6, 12, 3, 2)),
    (6, 12, 3, 2),
    Layout((2, 3, 2, 2, 3, 3, 2), (12, 144, 72, 6, 24, 2, 1)),
    Region((0, 0, 0, 0), (6, 12, 3, 2)),
    variant=Variant.TMA,
)


def test_boxes_of_different_shapes_where_equal_ones_would_be_misaligned(search):
    plan = plan_copy(ROWS_OF_576_BYTES)
    assert plan.check() == []
    assert plan.instruction_count == search.fewest_instructions(ROWS_OF_576_BYTES) == 9


def test_a_store_cut_into_different_boxes_writes_nothing_twice():
    store = replace(ROWS_OF_576_BYTES, direction=Direction.STORE)
    plan = plan_copy(store)
    assert plan.check() == []
    assert plan_copy(replace(store, reduction="add")).check() == []


def test_boxes_of_equal_shape_share_a_descriptor():
    assert len(plan_copy(ROWS_OF_576_BYTES).tensor_maps) == 2


def test_a_tile_that_no_box_can_begin_in_is_refused_at_once():
    """16 bytes behind a multiple of 128, and its rows merge: 1024 chunks that took a minute to search."""
    tile = (64, 32)
    part = Region((6, 0), tile)
    shifted = CopyRequest(
        dtype("f64"), Direction.STORE, (70, 32), row_major((70, 32)), part, tile, Layout(tile, (32, 1), 2),
        Region((0, 0), tile), variant=Variant.TMA,
    )  # fmt: skip
    began = time.process_time()
    with pytest.raises(PlanDeclined, match="box at shared byte 16"):
        plan_copy(shifted)
    assert time.process_time() - began < 5


def test_the_search_itself_knows_simple_answers(search):
    tile = (16, 64)
    plain = CopyRequest(
        dtype("f16"), Direction.LOAD, (64, 256), row_major((64, 256)), Region((0, 0), tile), tile, row_major(tile),
        Region((0, 0), tile),
    )  # fmt: skip
    assert search.fewest_instructions(plain) == 1
    apart = replace(plain, shared_layout=Layout(tile, (128, 1)))
    assert search.fewest_instructions(apart) == 16
    assert search.fewest_instructions(replace(plain, shared_layout=Layout(tile, (72, 1)))) is None
