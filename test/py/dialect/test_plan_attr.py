"""Plans and descriptors survive the trip through attributes and through JSON, whole."""

import importlib
import json
import string
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tma_mlir.abi.signature import TensorMapArgument
from tma_mlir.bindings import ir
from tma_mlir.codec import DataError, from_data, to_data
from tma_mlir.compile.compiler import compile_file
from tma_mlir.dialect import make_context, plan_attr
from tma_mlir.dialect.plan_attr import PlanReader, plan_attribute, read_tensor_map, tensor_map_attribute
from tma_mlir.dtypes import dtype
from tma_mlir.layout import row_major
from tma_mlir.layout.expr import Expr, Symbol, exact_div
from tma_mlir.plan import (
    BulkGroup,
    Condition,
    Coordinate,
    CopyPlan,
    CopyRequest,
    Direction,
    Finding,
    IssueGroup,
    Loop,
    PlanDeclined,
    Region,
    Status,
    Swizzle,
    TensorMap,
    ThreadPlan,
    Variant,
    plan_copy,
)  # fmt: skip
from tma_mlir.plan.explain import EXPLANATION, plan_data
from tma_mlir.plan.tensor_map import L2Promotion, OobFill

TOP = Path(__file__).resolve().parents[3]
EXAMPLES = TOP / "examples"
SAMPLE = TOP / "test" / "data" / "plan_corpus_sample.json"
WHOLE = TOP.parent / "shared" / "data" / "plan_corpus.json"
ROW = Expr.of(Symbol("source_offset0", -8, 1016, divisor=8, host=False))
PITCH = Expr.of(Symbol("global.stride0", low=0))
REGION = Region((ROW, 0), (8, 64))
REQUEST = CopyRequest(
    dtype("f16"), Direction.LOAD, (64, 256), row_major((64, 256)), REGION, (8, 64), row_major((8, 64)),
    Region((0, 0), (8, 64)), options=(("scope", '"cta"'),),
)  # fmt: skip
MAP = TensorMap(
    "FLOAT32", (100, 40), (PITCH * 2,), (32, 16), (1, 2), Swizzle.NONE, L2Promotion.B256, OobFill.NAN,  # type: ignore[arg-type]
    base_offset_bytes=64,
)  # fmt: skip
FINDING = Finding("global stride alignment", Status.UNKNOWN, "2*global.stride0", "a multiple of 16 B", "Pad the pitch.")
CHECK = Condition(PITCH * 2, FINDING, 16, 0, 1 << 40)  # type: ignore[arg-type]
PLANS = [
    CopyPlan(Variant.EMPTY, REQUEST),
    CopyPlan(
        Variant.TMA,
        REQUEST,
        (TensorMap("FLOAT16", (64, 8, 4), (512, 128), (64, 8, 4), (1, 1, 1), Swizzle.B128),),
        (IssueGroup(0, (Coordinate(0),) * 3),),
        transaction_bytes=4096,
        shared_alignment_bytes=1024,
    ),
    CopyPlan(
        Variant.TMA,
        REQUEST,
        (MAP,),
        (IssueGroup(0, (Coordinate(exact_div(ROW, 8)), Coordinate(ROW, 16)), 128, (Loop(4, (1, 0), 2048),)),),
        host_checks=(CHECK,),
        guards=(Condition(ROW, replace(FINDING, remedy='Say "so".\n'), 16),),
        fallback=ThreadPlan(Variant.SIMT, 8),
    ),
    CopyPlan(Variant.BULK, REQUEST, bulk_groups=(BulkGroup(65536, ROW * 2, 0, (Loop(2, (65536,), 65536),)),)),
]


def plan_of_attribute(attribute: ir.Attribute) -> CopyPlan:
    """The plan read anew, whatever was written before."""
    plan_attr._READ.clear()
    return PlanReader().read(attribute)


def attribute_trip(plan: CopyPlan) -> CopyPlan:
    with make_context() as context:
        attribute = plan_attribute(plan, context)
        again = plan_of_attribute(ir.Attribute.parse(str(attribute)))
        assert plan_attribute(again, context) == attribute
        return again


def json_trip(data: dict) -> CopyPlan:
    return from_data(CopyPlan, json.loads(json.dumps(data)), EXPLANATION)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: str(plan.variant))
def test_plans_round_trip(plan):
    assert attribute_trip(plan) == plan
    assert json_trip(to_data(plan)) == plan
    assert json_trip(to_data(plan, complete=True)) == plan


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
NAMES = st.text(string.ascii_letters, min_size=1, max_size=3)


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS, TEXTS, NAMES, st.integers(-9, 0), st.none() | st.integers(0, 9), st.integers(1, 64), st.booleans())
def test_any_text_and_any_symbol_round_trip(needed, remedy, option, name, low, high, divisor, host):
    symbol = Expr.of(Symbol(name, low, high, divisor, host))
    plan = CopyPlan(
        Variant.TMA,
        replace(REQUEST, options=(("cache", option),), global_region=Region((symbol, 0), (8, 64))),
        guards=(Condition(symbol * 3 + 1, Finding("rank", Status.UNKNOWN, remedy, needed, remedy), 16),),  # type: ignore[operator]
    )
    assert attribute_trip(plan) == plan
    assert json_trip(to_data(plan)) == plan


@pytest.mark.parametrize(("element", "packing"), [("i4", None), ("f4E2M1FN", "16B"), ("f6E3M2FN", "16B")])
def test_plans_of_packed_elements_round_trip(element, packing):
    request = replace(
        REQUEST, dtype=dtype(element), packing=packing, chip="sm_100a", global_shape=(64, 512),
        global_layout=row_major((64, 512)), global_region=Region((ROW, 128), (8, 128)), shared_shape=(8, 128),
        shared_layout=row_major((8, 128)), shared_region=Region((0, 0), (8, 128)),
    )  # fmt: skip
    plan = plan_copy(request)
    assert attribute_trip(plan) == replace(plan, findings=())
    assert plan.request == request


def test_plans_of_all_examples_round_trip():
    seen = 0
    for path in sorted(EXAMPLES.rglob("*.mlir")):
        for copy in compile_file(path, assemble_cubin=False).plans:
            assert attribute_trip(copy.plan) == copy.plan
            assert json_trip(plan_data(copy.plan)) == copy.plan
            seen += 1
    assert seen >= 10


@pytest.mark.parametrize("corpus", [SAMPLE, WHOLE], ids=["sample", "whole"])
def test_plans_of_the_corpus_round_trip(corpus, monkeypatch):
    if not corpus.exists():
        pytest.skip(f"{corpus.name} is not beside the checkout")
    monkeypatch.syspath_prepend(str(TOP / "tools"))
    plan_corpus = importlib.import_module("plan_corpus")
    data = json.loads(corpus.read_text())
    seen = 0
    with make_context() as context:
        for row in (row for section in ("cases", "sweep", "probes") for row in data[section]):
            try:
                plan = plan_copy(plan_corpus.read_copy(row["inputs"]).request)
            except (PlanDeclined, plan_corpus.OutOfScopeError):
                continue
            attribute = plan_attribute(plan, context)
            assert plan_of_attribute(attribute) == plan
            assert plan_attribute(plan_of_attribute(attribute), context) == attribute
            assert json_trip(to_data(plan)) == plan
            seen += 1
    assert seen >= (400 if corpus is WHOLE else 1)


def test_a_descriptor_carries_the_argument_and_what_the_host_must_check():
    recipe = TensorMapArgument(3, MAP, (CHECK,))
    with make_context() as context:
        assert read_tensor_map(tensor_map_attribute(recipe, context)) == recipe


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variant": "fast"}, "variant: needed: one of auto, tma"),
        ({"vector_bytes": "x"}, "vector_bytes: needed: an integer"),
        ({"speed": 1}, "unknown entry 'speed'"),
        ({"transaction_bytes": 2048}, "changed by hand: 'digest'"),
        ({"instructions": 7}, "changed by hand: 'digest'"),
        ({"groups": 3}, "groups: needed: a list"),
        ({"request": None}, "request: needed: a dictionary"),
    ],
)
def test_a_plan_that_is_none_is_refused_with_the_place(change, message):
    from tma_mlir.dialect.attributes import dictionary_attr
    from tma_mlir.dialect.data_attr import data_attribute

    data = {**to_data(PLANS[1]), **change}
    with make_context() as context, pytest.raises(DataError, match=message):
        PlanReader().read(dictionary_attr("plan", data_attribute(data, context), context))
