from __future__ import annotations

import pytest

from tma_mlir.cli.source import Source
from tma_mlir.cli.verify_diagnostics import mismatches
from tma_mlir.diagnostics import Diagnostic, Place


def said(line: int, message: str = "bad rank 7 here", severity: str = "error") -> Diagnostic:
    return Diagnostic(severity, Place("-", line, 1), message)


@pytest.mark.parametrize(
    "text",
    [
        "x // expected-error {{bad rank}}",
        "// expected-error@+0 {{bad rank 7 here}}",
        "x // expected-error-re {{rank {{[0-9]}} he{{re$}}}}",
    ],
)
def test_an_expectation_on_its_own_line_is_met(text):
    assert mismatches(text, "f.mlir", [said(1)]) == []


def test_offsets_and_designators_count_lines():
    chunk = """
a
// expected-error@-1 {{x}}
// expected-error@above {{x}}
// expected-error@+3 {{x}}
// expected-error@below {{x}}
// expected-warning@below {{x}}
b
"""
    messages = [said(2, "x"), said(2, "x"), said(8, "x"), said(8, "x"), said(8, "x", "warning")]
    assert mismatches(chunk, "f.mlir", messages) == []


@pytest.mark.parametrize("message", [said(2), said(1, "other"), said(1, severity="remark")])
def test_line_text_and_kind_must_agree(message):
    wrong = [each.message for each in mismatches("x // expected-error {{bad rank}}", "f.mlir", [message])]
    assert wrong == [f"unexpected {message.severity}: {message.message}", 'expected error "bad rank" was not produced']


def test_one_comment_meets_one_message():
    assert len(mismatches("x // expected-error {{bad}}", "f.mlir", [said(1), said(1)])) == 1


def test_only_expected_lets_others_pass():
    assert mismatches("", "f.mlir", [said(1)], only_expected=True) == []


def test_notes_are_expected_too_but_not_mlirs_print_out():
    notes = (said(1, "see current operation: x", "note"), said(1, "prior use here", "note"))
    message = Diagnostic("error", Place("-", 1, 1), "bad", notes)
    wrong = mismatches("x // expected-error {{bad}}", "f.mlir", [message])
    assert [each.message for each in wrong] == ["unexpected note: prior use here"]


def test_messages_without_a_place():
    assert mismatches("// expected-error@unknown {{bad}}", "f.mlir", [Diagnostic("error", None, "bad")]) == []


def test_a_caret_stands_under_the_column_counted_in_bytes():
    shown = Source("f.mlir", 'a\n\t@"é" x').render(Diagnostic("error", Place("-", 2, 8), "bad"))
    assert shown == 'f.mlir:2:8: error: bad\n        @"é" x\n             ^'


def test_parts_keep_their_line_numbers():
    parts = Source("f", "a\n// -----\nb\n  // ----- c\nd").parts("// -----")
    assert list(parts) == [
        ("a\n", 1, 1),
        ("\n" + " " * 8 + "\nb\n  ", 2, 9),
        ("\n" * 3 + " " * 10 + " c\nd", 4, 11),
    ]
