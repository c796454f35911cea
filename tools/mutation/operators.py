"""Changes of a Python file that a test should notice: one wrong bound, one lost condition, one statement less.

cosmic-ray and mutmut know no deletion of a statement, of a rule or of half a condition, which are the faults that
matter here; so the changes are made here, on Python's own ``ast``.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

OTHER_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OTHER_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
OTHER_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any", "gcd": "lcm", "lcm": "gcd"}
NOT_TESTED = {"__repr__", "__str__", "__dir__", "__hash__"}


@dataclass(frozen=True)
class Mutant:
    """One changed file. ``line`` to ``last_line`` (from 1) is what was changed; ``old`` and ``new`` are its text."""

    path: str
    line: int
    last_line: int
    column: int
    operator: str
    old: str
    new: str
    start: int
    end: int

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.operator}"

    def applied(self, source: bytes) -> bytes:
        """The file's bytes with the change made."""
        return source[: self.start] + self.new.encode() + source[self.end :]


def mutants(path: str, source: bytes) -> Iterator[Mutant]:
    """All changes of one file, in the order of its text. Texts, annotations and docstrings stay."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    seen = set()
    for node, operator, new in _changes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        old = source[start:end].decode()
        made = Mutant(
            path, node.lineno, node.end_lineno or node.lineno, node.col_offset, operator, old, new, start, end
        )
        changed = made.applied(source)
        if changed in seen:
            continue
        seen.add(changed)
        yield made


Change = tuple["ast.expr | ast.stmt", str, str]


def _changes(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        if node.name in NOT_TESTED:
            return
        names = {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
        if "rule" in names and isinstance(node, ast.FunctionDef):
            yield node.body[-1], "rule always holds", 'return holds(True, "", "", "")'
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        for each in body:
            yield from _changes(each)
        if isinstance(node, ast.FunctionDef):
            for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                yield from _changes(default)
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return
    if isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom)):
        return
    if isinstance(node, ast.AnnAssign):
        if node.value is not None:
            yield from _changes(node.value)
        return
    if isinstance(node, ast.Assign) and any(
        isinstance(each, ast.Name) and each.id == "__all__" for each in node.targets
    ):
        return
    if isinstance(node, ast.Raise):
        yield node, "raise deleted", "pass"
        return
    if isinstance(node, ast.expr):
        yield from _of_expression(node)
    elif isinstance(node, ast.stmt):
        yield from _of_statement(node)
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.arguments):
            yield from _changes(child)


def _of_statement(node: ast.stmt) -> Iterator[Change]:
    if isinstance(node, (ast.If, ast.While)):
        yield node.test, "condition never holds", "False"
        if isinstance(node, ast.If):
            yield node.test, "condition always holds", "True"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield node, "call deleted", "pass"
    elif isinstance(node, ast.AugAssign):
        yield node, "update deleted", "pass"
    elif isinstance(node, ast.Assign) and not isinstance(node.targets[0], (ast.Name, ast.Tuple)):
        yield node, "assignment deleted", "pass"
    elif isinstance(node, ast.Continue):
        yield node, "continue to break", "break"
    elif isinstance(node, ast.Break):
        yield node, "break to continue", "continue"


def _of_expression(node: ast.expr) -> Iterator[Change]:
    def becomes(operator: str, **fields: object) -> Change:
        made = copy.copy(node)
        for name, value in fields.items():
            setattr(made, name, value)
        return node, operator, f"({ast.unparse(made)})"

    if isinstance(node, ast.Compare):
        for place, each in enumerate(node.ops):
            for other in OTHER_COMPARISONS[type(each)]:
                changed = [*node.ops[:place], other(), *node.ops[place + 1 :]]
                which = f" ({place + 1} of {len(node.ops)})" if len(node.ops) > 1 else ""
                yield becomes(f"{type(each).__name__} to {other.__name__}{which}", ops=changed)
    elif isinstance(node, ast.BoolOp):
        other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield becomes(f"{type(node.op).__name__} to {type(other_op).__name__}", op=other_op)
        for place in range(len(node.values)):
            rest = [*node.values[:place], *node.values[place + 1 :]]
            if len(rest) == 1:
                yield node, f"operand {place} deleted", f"({ast.unparse(rest[0])})"
            else:
                yield becomes(f"operand {place} deleted", values=rest)
    elif isinstance(node, ast.UnaryOp):
        yield node, f"{type(node.op).__name__} deleted", f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.BinOp) and type(node.op) in OTHER_OPERATORS:
        other_binary = OTHER_OPERATORS[type(node.op)]()
        yield becomes(f"{type(node.op).__name__} to {type(other_binary).__name__}", op=other_binary)
    elif isinstance(node, ast.IfExp):
        yield node, "condition always holds", f"({ast.unparse(node.body)})"
        yield node, "condition never holds", f"({ast.unparse(node.orelse)})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield node, f"{node.value} to {not node.value}", str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield node, "number + 1", str(node.value + 1)
        if node.value:
            yield node, "number - 1", str(node.value - 1)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OTHER_FUNCTIONS:
        other_name = OTHER_FUNCTIONS[node.func.id]
        yield becomes(f"{node.func.id} to {other_name}", func=ast.Name(other_name))
    elif isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) > 1:
        calls = [place for place, each in enumerate(node.elts) if isinstance(each, ast.Call)]
        if len(calls) == len(node.elts):
            for place in calls:
                yield becomes(f"element {place} deleted", elts=[*node.elts[:place], *node.elts[place + 1 :]])
