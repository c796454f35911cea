"""What the driver's encoder does with what the runtime asks of it."""

from dataclasses import replace

import numpy as np
import pytest

from tma_mlir.abi.conditions import violations
from tma_mlir.dtypes import DRIVER_BYTES
from tma_mlir.plan.tensor_map import L2Promotion, OobFill, Swizzle, TensorMap
from tma_mlir.runtime import DescriptorError, driver
from tma_mlir.runtime.tensor_maps import DescriptorBlock, DescriptorCache, encode

BASE = 1 << 20
MAP = TensorMap("FLOAT16", (512, 64, 8), (1024, 65536), (64, 8, 2), (1, 1, 1), Swizzle.B128)


@pytest.fixture(autouse=True)
def _context():
    with driver.current(0):
        yield


def rewritten(descriptor, address):
    from ctypes import addressof, c_char

    raw = (c_char * 256)()
    start = -addressof(raw) % 128
    memory = memoryview(raw).cast("B")
    DescriptorBlock.of([descriptor]).write(memory, start, addressof(raw) + start, [address])
    return bytes(memory[start : start + 128])


@pytest.mark.parametrize("swizzle", list(Swizzle)[:4])
@pytest.mark.parametrize("dims", [(512, 64, 8), (16, 8, 2), (512, 1 << 20, 1 << 10)])
def test_replacing_the_address_is_encoding_for_it(swizzle, dims):
    tensor_map = replace(MAP, swizzle=swizzle, dims=dims, box=(16, 8, 2))
    for address in (BASE, BASE + 16, 0x7F0000000000, 0x7FFFFFFFF000):
        assert rewritten(encode(tensor_map, BASE), address) == encode(tensor_map, address).data


def random_map(rng):
    """Near every limit, legal or not."""
    rank = int(rng.integers(1, 6))

    def pick(*values):
        return int(rng.choice(values))

    return TensorMap(
        data_type=str(rng.choice(list(DRIVER_BYTES))),
        dims=tuple(pick(1, 16, 64, 1 << 32, 1 + (1 << 32)) for _ in range(rank)),
        strides_bytes=tuple(pick(0, 16, 24, 1024, 1 << 39, (1 << 40) - 16, 1 << 40) for _ in range(rank - 1)),
        box=tuple(pick(1, 2, 4, 8, 16, 16, 32, 64, 256, 257) for _ in range(rank)),
        element_strides=tuple(pick(1, 1, 1, 1, 2, 8, 9) for _ in range(rank)),
        swizzle=Swizzle(pick(0, 0, 1, 2, 3)),
        l2_promotion=L2Promotion(pick(0, 1, 2, 3)),
        oob_fill=OobFill(pick(0, 0, 1)),
    )


def test_the_rules_are_the_driver_s():
    rng = np.random.default_rng(5)
    verdicts = [0, 0]
    for _ in range(20_000):
        tensor_map, address = random_map(rng), BASE + int(rng.choice([0, 0, 0, 16, 8]))
        problems = violations(tensor_map, address, driver.device(0).chip)
        try:
            encode(tensor_map, address)
            accepted = True
        except DescriptorError:
            accepted = False
        assert accepted is not bool(problems), (tensor_map, hex(address), problems)
        verdicts[accepted] += 1
    assert min(verdicts) > 500


def test_a_refusal_shows_the_fields():
    with pytest.raises(DescriptorError, match=r"CUDA_ERROR_INVALID_VALUE.*strides 1000,65536 bytes"):
        encode(replace(MAP, strides_bytes=(1000, 65536)), BASE)


def test_the_cache_gives_what_encoding_gives():
    cache = DescriptorCache(capacity=4)
    for address in [BASE + 16 * (i % 7) for i in range(100)]:
        found = cache.find(MAP, address, 0) or cache.encode(MAP, address, 0)
        assert found.data == encode(MAP, address).data
    assert len(cache) == 4
