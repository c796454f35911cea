from __future__ import annotations

import pytest

from tma_mlir.passes.pipeline_text import Nest, PassCall, PipelineError, parse_anchored, parse_elements, quote
from tma_mlir.passes.pipeline_text import split_options as _split_options


def options(text: str) -> list[tuple[str, str | None]]:
    pipeline = f"p{{{text}}}"
    (call,) = parse_elements(pipeline)
    assert isinstance(call, PassCall)
    return [(name, value) for name, value, _ in _split_options(call, pipeline)]


def test_a_nested_pipeline():
    tree = parse_anchored(" builtin.module( a , gpu.module(b{x=1},c) )\n")
    assert str(tree) == "builtin.module(a,gpu.module(b{x=1},c))"
    assert [type(each) for each in tree.elements] == [PassCall, Nest]


def test_an_anchor_may_be_empty():
    assert parse_anchored("builtin.module()").elements == ()
    assert parse_elements(" ") == ()


@pytest.mark.parametrize("text", ["a{x={p,q(} y=1}", "a{x='},(' y=1}", 'a{x="})"}', "a{x={y={z}}}"])
def test_quotes_and_braces_hide_punctuation(text):
    assert [str(each) for each in parse_elements(f"{text},b")] == [text, "b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("x=1 y=2", [("x", "1"), ("y", "2")]),
        ("flag", [("flag", None)]),
        ("x=", [("x", "")]),
        ("x='a b'\n y=\"c d\" z={e f}", [("x", "a b"), ("y", "c d"), ("z", "e f")]),
        ("x=a,b,c", [("x", "a,b,c")]),
        ("x=+ptx80", [("x", "+ptx80")]),
        ("x=a'b c'd", [("x", "a'b c'd")]),
    ],
)
def test_options(text, expected):
    assert options(text) == expected


@pytest.mark.parametrize("value", ["1", "", "a b", "it's", 'say "x"', "'both' \"kinds\"", "{a b}", "a,b"])
def test_a_quoted_value_reads_back(value):
    assert options(f"x={quote(value)}") == [("x", value)]


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "wrapped with its anchor"),
        ("cse", 1, 1, "wrapped with its anchor"),
        ("a(b),c(d)", 1, 1, "wrapped with its anchor"),
        ("a(b", 1, 2, "'(' after 'a' is never closed"),
        ("a(b))", 1, 5, "closes nothing"),
        ("a(b,)", 1, 5, "expected the name of a pass or an anchor operation, found ')'"),
        ("a(,b)", 1, 3, "found ','"),
        ("a(b c)", 1, 5, "expected ',' or ')' after 'b'"),
        ("a(b,", 1, 5, "found the end"),
        ("a(b{x=1)", 1, 4, "'{' is never closed"),
        ("a(b{x='1})", 1, 7, "quotation is never closed"),
        ("a(b,\n  c d)", 2, 5, "expected ',' or ')' after 'c'"),
        ("a(b)x", 1, 5, "expected ',' or ')' after 'a'"),
    ],
)
def test_errors_have_a_place(text, line, column, message):
    with pytest.raises(PipelineError, match="error") as caught:
        parse_anchored(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert message in caught.value.message
    assert str(caught.value).endswith(" " * (column - 1) + "^")
