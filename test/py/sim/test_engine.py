"""Rules of the TMA engine, each on the smallest copy that shows it. Bytes expected as docs/hardware.md says."""

from __future__ import annotations

import numpy as np
import pytest

from tma_mlir.plan.tensor_map import OobFill, Swizzle, TensorMap
from tma_mlir.sim import engine, gather


def bind(data_type="UINT8", dims=(16,), strides=(), box=(16,), swizzle=Swizzle.NONE, fill=OobFill.ZERO, steps=None):
    tensor_map = TensorMap(data_type, dims, strides, box, steps or (1,) * len(dims), swizzle, oob_fill=fill)
    return engine.BoundTensorMap(tensor_map, 0x1000)


def load(bound, coordinates, memory, shared_address=0, shared_bytes=1024):
    shared = np.full(shared_bytes, 0xCD, np.uint8)
    engine.place_box(bound, engine.load_box(bound, coordinates, memory, 0x1000), shared, shared_address)
    return shared


def test_a_load_fills_outside_the_tensor_with_zeros():
    shared = load(bind(dims=(16, 1), strides=(16,), box=(16, 2)), (0, -1), np.arange(16, dtype=np.uint8))
    assert shared[:32].tolist() == [0] * 16 + list(range(16))


def test_nan_fill_writes_7ff7_over_every_16_bits():
    shared = load(bind("FLOAT32", dims=(4,), box=(4,), fill=OobFill.NAN), (4,), np.zeros(16, np.uint8))
    assert shared[:16].view(np.uint32).tolist() == [0x7FF77FF7] * 4


def test_swizzle_128b_phase_follows_the_absolute_shared_address():
    bound = bind(dims=(128,), box=(128,), swizzle=Swizzle.B128)
    memory = np.arange(128, dtype=np.uint8)
    # At byte 128 address bits 7-9 are 1: chunk 0 lands in chunk 1.
    assert load(bound, (0,), memory, shared_address=128)[16:32].tolist() == list(range(16))
    assert load(bound, (0,), memory, shared_address=0)[:16].tolist() == list(range(16))


def test_a_narrow_row_occupies_the_swizzle_span():
    bound = bind(dims=(16, 2), strides=(16,), box=(16, 2), swizzle=Swizzle.B32)
    shared = load(bound, (0, 0), np.arange(32, dtype=np.uint8))
    assert shared[32:48].tolist() == list(range(16, 32))
    assert set(shared[16:32].tolist()) == {0xCD}
    assert bound.transaction_bytes == 32


def test_traversal_stride_takes_every_second_row():
    bound = bind(dims=(16, 4), strides=(16,), box=(16, 4), steps=(1, 2))
    shared = load(bound, (0, 1), np.repeat(np.arange(4, dtype=np.uint8), 16))
    assert shared[:32:16].tolist() == [1, 3]


def test_tfloat32_loads_round_to_nearest_even():
    words = np.array([0x3F801000, 0x3F803000, 0x3F800FFF, 0x7FC00001], np.uint32)
    shared = load(bind("TFLOAT32", dims=(4,), box=(4,)), (0,), words.view(np.uint8))
    assert shared[:16].view(np.uint32).tolist() == [0x3F800000, 0x3F804000, 0x3F800000, 0x7FFFE000]


def test_a_store_past_a_row_end_writes_up_to_the_next_16_bytes():
    bound = bind(dims=(20,), box=(32,))
    memory = np.zeros(64, np.uint8)
    engine.store_box(bound, (0,), np.full((1, 32), 7, np.uint8), memory, 0x1000)
    assert np.flatnonzero(memory == 7).tolist() == list(range(32))
    assert engine.clipped_tail_bytes(bound, (0,)) == 12


@pytest.mark.parametrize("store", [False, True])
def test_an_unaligned_innermost_start_is_an_illegal_instruction(store):
    with pytest.raises(engine.TmaFault, match="not a multiple of 16 B") as error:
        engine.check_coordinates(bind(), (8,), store)
    assert error.value.fault == "illegal instruction"


def test_a_negative_start_kills_a_store_and_not_a_load():
    engine.check_coordinates(bind(), (-16,), store=False)
    with pytest.raises(engine.TmaFault, match="negative start coordinate"):
        engine.check_coordinates(bind(), (-16,), store=True)


def test_a_tile_off_128_bytes_is_a_misaligned_address():
    with pytest.raises(engine.TmaFault, match="misaligned address"):
        engine.check_shared(bind(), 64)


@pytest.mark.parametrize(
    ("operation", "old", "value", "new"),
    [("inc", 3, 5, 4), ("inc", 5, 5, 0), ("dec", 0, 5, 5), ("dec", 7, 5, 5), ("dec", 3, 5, 2), ("xor", 6, 3, 5)],
)
def test_integer_reductions(operation, old, value, new):
    bound = bind("UINT32", dims=(4,), box=(4,))
    memory = np.full(4, old, np.uint32).view(np.uint8)
    box = np.full((1, 4), value, np.uint32).view(np.uint8)
    engine.store_box(bound, (0,), box, memory, 0x1000, reduction=operation)
    assert memory.view(np.uint32).tolist() == [new] * 4


def test_a_reduction_the_chip_does_not_execute_is_an_illegal_instruction():
    bound = bind("INT64", dims=(2,), box=(2,))
    with pytest.raises(engine.TmaFault, match="does not execute"):
        engine.store_box(bound, (0,), np.zeros((1, 16), np.uint8), np.zeros(16, np.uint8), 0x1000, reduction="add")


def test_gather4_takes_four_rows_by_number_and_fills_those_outside():
    bound = bind(dims=(16, 8), strides=(16,), box=(16, 1))
    memory = np.repeat(np.arange(8, dtype=np.uint8), 16)
    tile = gather.four_rows(bound)
    assert tile.transaction_bytes == 64
    box = gather.gather_rows(bound, gather.row_windows(bound, (0, 5, 1, 9, -1), store=False), memory, 0x1000)
    assert box[:, 0].tolist() == [5, 1, 0, 0]


def test_scatter4_writes_rows_by_number():
    bound = bind(dims=(16, 8), strides=(16,), box=(16, 1))
    memory = np.zeros(128, np.uint8)
    box = np.repeat(np.arange(1, 5, dtype=np.uint8), 16).reshape(4, 16)
    gather.scatter_rows(bound, gather.row_windows(bound, (0, 7, 2, 8, 0), store=True), box, memory, 0x1000)
    assert memory.reshape(8, 16)[:, 3].tolist() == [4, 0, 2, 0, 0, 0, 0, 1]
    with pytest.raises(engine.TmaFault, match="negative start coordinate"):
        gather.row_windows(bound, (0, -1, 0, 0, 0), store=True)
