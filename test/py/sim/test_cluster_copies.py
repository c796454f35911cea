"""Loads that CTAs of a cluster make together: who issues which share, and what arrives and is announced where.

Expected values are NumPy's, and the rule of the PTX ISA for who is signalled, written down here once more.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from support.cluster_kernels import cluster_load
from tma_mlir.analysis.clusters import ClusterLoad
from tma_mlir.compile.compiler import CompiledModule, CompileError, compile_text
from tma_mlir.plan.enums import MbarrierCta
from tma_mlir.run.execute import compare, reference_result
from tma_mlir.run.reference import copy_arguments
from tma_mlir.sim.simulate import simulate

OWN, PEER, EVEN, ODD = MbarrierCta


def compiled(*arguments: Any, chip: str = "sm_90a", **options: Any) -> tuple[str, CompiledModule]:
    text = cluster_load(*arguments, **options)
    return text, compile_text(text, chip, keep=("lowered",))


def outcome(module: CompiledModule, mask: int, cluster: int, shape=(16, 16), dtype=np.float32, seed=0) -> list[Any]:
    """Arguments, then the arguments after the kernel."""
    random = np.random.default_rng(seed)
    tile = random.integers(2, 100, shape).astype(dtype)
    values = [tile, np.zeros((cluster, tile.size), dtype), mask - 65536 if mask >= 32768 else mask]
    found = copy_arguments(values)
    simulate(module.texts["lowered"], module.signatures["k"], found, cluster=(cluster, 1, 1), schedule_seed=seed)
    return [values, found]


def expected(tile: np.ndarray, mask: int, cluster: int) -> np.ndarray:
    """The tile in each CTA of the mask, ones in the others."""
    return np.array([tile.reshape(-1) if mask >> rank & 1 else np.ones(tile.size) for rank in range(cluster)])


def check(
    text: str, module: CompiledModule, mask: int, cluster: int, *, reference: bool = True, **options: Any
) -> None:
    values, found = outcome(module, mask, cluster, **options)
    np.testing.assert_array_equal(found[1], expected(values[0], mask, cluster).astype(found[1].dtype))
    if reference:
        assert compare(found, reference_result(text, "k.mlir", "k", values)) == []


SPLITS = {
    "two of two": (2, 0b11, 2, {}),
    "four of four": (4, 0b1111, 4, {"shape": (4, 8, 16)}),
    "eight of eight": (8, 0xFF, 8, {"element": "bf16", "shape": (16, 64)}),
    "two of four, apart": (4, 0b1010, 2, {"element": "i32"}),
    "two of eight, the last": (8, 0b11000000, 2, {"shape": (256,)}),
    "four of eight": (8, 0b01100110, 4, {"element": "f16", "shape": (2, 8, 64)}),
}
TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "i32": np.int32, "f16": np.float16}


@pytest.mark.parametrize("name", SPLITS)
def test_each_cta_of_the_mask_issues_one_share(name):
    cluster, mask, parts, options = SPLITS[name]
    text, module = compiled(cluster, str(mask), f"cluster_split = {parts}, expect_tx", **options)
    dtype, shape = TYPES[options.get("element", "f32")], options.get("shape", (16, 16))
    for seed in (0, 3):
        check(text, module, mask, cluster, reference=not seed, shape=shape, dtype=dtype, seed=seed)


def test_a_dynamic_mask_divides_the_load_among_the_ctas_it_names():
    text, module = compiled(8, "%mask = arith.ori %given, %given : i16", "cluster_split = 4, expect_tx")
    for members in list(itertools.combinations(range(8), 4))[::7]:
        mask = sum(1 << rank for rank in members)
        check(text, module, mask, 8, reference=mask & 1 == 0)


def test_each_pair_of_a_larger_cluster_splits_its_own_load():
    own_pair = """
      %minus2 = arith.constant -2 : i16
      %three = arith.constant 3 : i16
      %even = arith.andi %r16, %minus2 : i16
      %mask = arith.shli %three, %even : i16"""
    text, module = compiled(4, own_pair, "cluster_split = 2, expect_tx", known=False)
    check(text.replace("array<i32: 4, 1, 1>}", "array<i32: 4, 1, 1>, known_cluster_size = array<i32: 4, 1, 1>}"),
          module, 0b1111, 4)  # fmt: skip


ISSUER = """
      %who = arith.constant {} : index
      %issues = arith.cmpi eq, %r, %who : index"""
BY_HAND = """
        %bytes = arith.constant 1024 : index
        %shifted = arith.shrui %mask, %r16 : i16
        %member = arith.trunci %shifted : i16 to i1
        %nobody = arith.xori %issues, %true : i1
        %announces = arith.andi %member, %nobody : i1
        scf.if %announces {
          nvgpu.mbarrier.arrive.expect_tx %barrier[%c0], %bytes : !barrier
        }"""
MEMBERS_WAIT = """
      %shifted_ = arith.shrui %mask, %r16 : i16
      %waits = arith.trunci %shifted_ : i16 to i1"""


@pytest.mark.parametrize("cluster", [2, 4, 8])
def test_one_cta_multicasts_and_announces_what_it_receives_itself(cluster):
    """The other CTAs announce for themselves. An issuer outside of the mask receives, and announces, nothing."""
    text, module = compiled(
        cluster, "%mask = arith.ori %given, %given : i16", "expect_tx", issues=ISSUER.format(1), extra=BY_HAND,
        waits=MEMBERS_WAIT,
    )  # fmt: skip
    masks = range(1, 1 << cluster) if cluster < 8 else (1, 2, 0x80, 0x5A, 0xFD, 0xFF)
    for number, mask in enumerate(masks):
        check(text, module, mask, cluster, reference=number < 3)


# Where an mbarrier is named of a pair of CTAs. The waiting CTAs are those whose mbarriers are signalled.
ONLY_EVEN = "%waits = arith.xori %odd, %true : i1"
ONLY_ODD = "%waits = arith.ori %odd, %odd : i1"
PAIRS = {
    "own": (2, 0b11, "cluster_split = 2", 1, ""),
    "own, four": (4, 0b1111, "cluster_split = 4", 1, ""),
    "peer, four": (4, 0b1111, 'cluster_split = 4, mbarrier_cta = "peer"', 1, ""),
    "even, two": (2, 0b11, 'cluster_split = 2, mbarrier_cta = "even"', 2, ONLY_EVEN),
    "even, eight": (8, 0xFF, 'cluster_split = 8, mbarrier_cta = "even"', 2, ONLY_EVEN),
    "even, one of each pair": (4, 0b0110, 'cluster_split = 2, mbarrier_cta = "even"', 2, ONLY_EVEN),
    "odd, four": (4, 0b1111, 'cluster_split = 4, mbarrier_cta = "odd"', 2, ONLY_ODD),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_mbarrier_of_a_pair_gets_what_is_announced_on_it(name):
    cluster, mask, attributes, arrivals, waits = PAIRS[name]
    options = {"arrivals": arrivals, "waits": waits, "chip": "sm_100a"}
    text, module = compiled(cluster, str(mask), f"cta_group = 2, expect_tx, {attributes}", **options)
    assert ".cta_group::2" in module.ptx
    for seed in (0, 5):
        check(text, module, mask, cluster, reference=not seed, seed=seed)


@pytest.mark.parametrize(("cta", "issuer", "waiting"), [("own", 0, 0), ("peer", 0, 1), ("even", 1, 0), ("odd", 0, 1)])
def test_one_cta_loads_for_both_of_a_pair_on_one_mbarrier(cta, issuer, waiting):
    """Both CTAs receive a tile, and the one mbarrier that is named receives the bytes of both."""
    text, module = compiled(
        2, "3", f'cta_group = 2, expect_tx, mbarrier_cta = "{cta}"', issues=ISSUER.format(issuer), chip="sm_100a",
        waits=ONLY_ODD if waiting else ONLY_EVEN,
    )  # fmt: skip
    assert ", 2048;" in re.findall(r"mbarrier\.arrive\.expect_tx.*|mov\.b32.*2048;", module.ptx)[0]
    check(text, module, 0b11, 2)


def test_a_load_without_multicast_completes_on_the_mbarrier_of_the_even_cta():
    text = cluster_load(4, "0", 'cta_group = 2, expect_tx, mbarrier_cta = "even"', arrivals=2, waits=ONLY_EVEN)
    text = text.replace(", %mask)", ")").replace("1, 1, 0, 1, 0>", "1, 1, 0, 0, 0>").replace("index, i16)", "index)")
    module = compile_text(text, "sm_100a", keep=("lowered",))
    assert re.search(r"mbarrier\.arrive\.expect_tx\.relaxed\.cluster\.shared::cluster\.b64", module.ptx)
    check(text, module, 0b1111, 4)


def signals(issuers, mask, group, named) -> dict[int, int]:
    """Shares that each CTA's mbarrier receives: the rule of the PTX ISA, destination by destination."""
    received: dict[int, int] = {}
    for issuer, destination in itertools.product(issuers, [rank for rank in range(16) if mask >> rank & 1]):
        pair = [destination & ~1, destination | 1]
        at = pair[named(issuer) % 2] if group == 2 else destination
        received[at] = received.get(at, 0) + 1
    return received


NAMED = {OWN: lambda rank: rank, PEER: lambda rank: rank ^ 1, EVEN: lambda rank: rank & ~1, ODD: lambda rank: rank | 1}
CTAS = [(1, OWN), *((2, each) for each in MbarrierCta)]


@pytest.mark.parametrize(("group", "cta"), CTAS)
@pytest.mark.parametrize("size", [2, 4, 8])
def test_every_mask_announces_exactly_what_arrives(size, group, cta):
    """For each mask and issuer: a load that one CTA issues announces what it brings to the mbarrier that it names. For
    each mask that is split: all CTAs together announce on every mbarrier what arrives there, or the mask is refused."""
    named = NAMED[cta]
    for mask in range(1, 1 << size):
        load = ClusterLoad(True, mask, size, 1, group, cta)
        for issuer in range(size):
            arriving = signals([issuer], mask, group, named)
            assert load.tiles_at(issuer) == arriving.get(named(issuer), 0)
        members = [rank for rank in range(size) if mask >> rank & 1]
        if len(members) < 2 or len(members) not in (2, 4, 8):
            continue
        split = ClusterLoad(True, mask, size, len(members), group, cta)
        announced: dict[int, int] = {}
        for rank in range(size):
            tiles = split.tiles_at(rank)
            if tiles:
                announced[named(rank)] = announced.get(named(rank), 0) + tiles * len(members)
        right = announced == signals(members, mask, group, named)
        assert right is not any("one CTA of a pair" in each for each in split.problems())


# Worked out by hand. Issuer, mask, cta_group, mbarrier_cta: tiles that arrive on the mbarrier that is named.
HAND = [
    (0, 0b0011, 1, OWN, 1), (1, 0b0001, 1, OWN, 0), (3, 0b1010, 1, OWN, 1),
    (0, 0b0011, 2, OWN, 2), (1, 0b0011, 2, EVEN, 2), (0, 0b0010, 2, OWN, 1), (1, 0b1100, 2, OWN, 0),
    (2, 0b0100, 2, ODD, 1), (5, 0b11110000, 2, PEER, 2), (7, 0b01000000, 2, EVEN, 1), (6, 0b00111111, 2, OWN, 0),
]  # fmt: skip


@pytest.mark.parametrize(("issuer", "mask", "group", "cta", "tiles"), HAND)
def test_tiles_worked_out_by_hand(issuer, mask, group, cta, tiles):
    assert ClusterLoad(True, mask, 8, 1, group, cta).tiles_at(issuer) == tiles


REFUSED = {
    "a mask beyond the cluster": ((2, "7", "expect_tx"), "CTA 2 of the cluster"),
    "no destination": ((2, "0", "expect_tx"), "mask is 0"),
    "fewer shares than CTAs": ((4, "15", "cluster_split = 2, expect_tx"), "names 4"),
    "more shares than CTAs in the mask": ((8, "3", "cluster_split = 4, expect_tx"), "names 2"),
    "more shares than CTAs in the cluster": (
        (2, "%mask = arith.ori %given, %given : i16", "cluster_split = 4, expect_tx"), "clusters have 2"),
    "pairs in a cluster of one": ((1, "1", "cta_group = 2, expect_tx"), "even number"),
    "one CTA of a pair": ((4, "6", "cta_group = 2, cluster_split = 2, expect_tx"), 'mbarrier_cta = "even"'),
    "mbarrier_cta without a pair": ((2, "3", 'mbarrier_cta = "peer", expect_tx'), "Add cta_group = 2"),
    "an unknown CTA": ((2, "3", 'cta_group = 2, mbarrier_cta = "first", expect_tx'), '"own", "peer", "even", "odd"'),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_cluster_is_one_located_error(name):
    arguments, message = REFUSED[name]
    with pytest.raises(CompileError, match=re.escape(message)) as error:
        compile_text(cluster_load(*arguments), "sm_100a")
    assert re.match(r".*:\d+:\d+: error: 'tile\.copy_async' op ", str(error.value))
    assert str(error.value).count("error:") == 1
