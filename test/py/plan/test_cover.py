"""Cutting a length into boxes of at most 256."""

from tma_mlir.plan.cover import Chunks, chunks, factors


def test_a_length_of_at_most_256_is_one_dimension():
    assert factors(256, 5) == (256,)


def test_longer_lengths_take_the_largest_factors():
    assert factors(512, 2) == (256, 2)
    assert factors(300, 2) == (150, 2)
    assert factors(1 << 20, 3) == (256, 256, 16)


def test_a_prime_above_256_is_no_box():
    assert factors(257, 5) is None
    assert factors(521, 5) is None


def test_the_inner_dimension_is_made_of_whole_16_byte_units():
    assert factors(264, 2, 8) == (88, 3)
    assert factors(257 * 8, 3, 8) is None


def test_outer_starts_and_ends_stay_whole():
    assert factors(512, 2, 1, 384) == (128, 4)
    assert factors(512, 2, 1, 5) is None


def test_a_length_that_fits_is_one_chunk():
    assert chunks(512, 2, 1, 0, 1, 1 << 16, True) == Chunks(512, 1, 0, None, 0)


def test_equal_chunks_are_preferred():
    assert chunks(512, 1, 1, 0, 8, 1 << 16, True) == Chunks(256, 2, 256, None, 0)


def test_loads_overlap_rather_than_use_a_second_descriptor():
    assert chunks(257, 1, 1, 0, 1, 1 << 16, True) == Chunks(129, 2, 128, None, 0)


def test_stores_never_overlap():
    assert chunks(257, 1, 1, 0, 1, 1 << 16, False) == Chunks(256, 1, 256, None, 1)


def test_chunks_start_at_multiples_of_the_shared_memory_unit():
    found = chunks(300, 1, 1, 0, 8, 1 << 16, False)
    assert found is not None
    assert found.step % 8 == 0
    assert found.boxes == 2
