"""A step with what is known about its arguments folded in, before numba types it.

A kernel is compiled for one market and for one customer at a time, so many branches are never taken and most loops run
once. The device's compiler finds that out too, but only after numba has typed every line in Python, which is most of
the time that a kernel takes to compile. So here whole numbers that are known replace what they are read from,
branches on them are decided, and loops over one customer become their body. Nothing else changes: no arithmetic of a
step is touched.
"""

from __future__ import annotations

import ast
import functools
import json
import operator
import types
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from numba.core.dispatcher import Dispatcher

# A whole number, or what is known of a tuple: by field, or by "[index]".
Constants: TypeAlias = "int | Mapping[str, Constants]"

_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class FoldedStep(NamedTuple):
    """A step's new code, and the callees it knows something about: by new global name, with what is known."""

    code: types.CodeType
    calls: dict[str, tuple[Any, dict[str, Constants]]]


@functools.cache
def fold(step: Any, constants: str) -> FoldedStep:
    """A plain function with constants of its arguments, given as JSON; steps it calls get those that it passes on."""
    tree = _parsed(step)
    function: Any = tree.body[0]
    stored = set(_stored(function))
    around = {name: each for name, each in step.__globals__.items() if name not in stored.union(_parameters(step))}
    known = _Facts({name: each for name, each in json.loads(constants).items() if name not in stored}, around)
    branches = _Branches(known, set(_names_read_outside(function, frozenset())))
    while True:  # a decided branch may leave a variable with one value, which decides others
        before = len(known.names)
        tree = branches.visit(tree)
        known.learn(function)
        if len(known.names) == before:
            break
    calls = _Calls(known)
    tree = ast.fix_missing_locations(_Numbers(known).visit(calls.visit(tree)))
    (code,) = (each for each in compile(tree, step.__code__.co_filename, "exec").co_consts if _is_code(each))
    return FoldedStep(code, calls.made)


class _Facts:
    """What is known inside one function."""

    def __init__(self, names: dict[str, Constants], around: Mapping[str, Any]) -> None:
        self.names, self._around = names, around

    def learn(self, function: ast.FunctionDef) -> None:
        """Variables that are given a known value, and never another."""
        stored, parameters = Counter(_stored(function)), {each.arg for each in function.args.args}
        for name, given in _given(function):
            value = self.of(given) if stored[name] == 1 and name not in parameters else None
            if value is not None:
                self.names[name] = value

    def of(self, node: ast.expr) -> Constants | None:
        """What is known of an expression, or None."""
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        if isinstance(node, ast.Name) and node.id in self.names:
            return self.names[node.id]
        if isinstance(node, ast.Call):
            fields = getattr(self.global_value(node.func), "_fields", None)
            values = {name: self.of(each) for name, each in zip(fields or (), node.args, strict=False)}
            return {name: each for name, each in values.items() if each is not None} or None
        if isinstance(node, ast.Attribute | ast.Subscript):
            whole = self.of(node.value)
            if isinstance(whole, Mapping):
                return whole.get(node.attr if isinstance(node, ast.Attribute) else f"[{ast.unparse(node.slice)}]")
        value = self.global_value(node)
        return value if type(value) is int else None

    def global_value(self, node: ast.expr) -> Any:
        """What a global name, or an attribute of a module, stands for."""
        if isinstance(node, ast.Name):
            return self._around.get(node.id)
        whole = self.global_value(node.value) if isinstance(node, ast.Attribute) else None
        return getattr(whole, node.attr, None) if isinstance(whole, types.ModuleType) else None  # type: ignore[attr-defined]

    def decides(self, test: ast.expr) -> bool | None:
        """Whether a condition holds, or None."""
        if isinstance(test, ast.BoolOp):
            decisive = isinstance(test.op, ast.Or)
            parts = [self.decides(each) for each in test.values]
            return decisive if decisive in parts else (None if None in parts else not decisive)
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            left, right = self.of(test.left), self.of(test.comparators[0])
            if isinstance(left, int) and isinstance(right, int) and type(test.ops[0]) in _COMPARED:
                return _COMPARED[type(test.ops[0])](left, right)
        return None


class _Branches(ast.NodeTransformer):
    """Decides branches, and replaces a loop that runs once by its body."""

    def __init__(self, known: _Facts, read_outside: set[str]) -> None:
        self._known, self._read_outside = known, read_outside

    def visit_If(self, node: ast.If) -> Any:
        holds = self._known.decides(node.test)
        self.generic_visit(node)
        return node if holds is None else (node.body if holds else node.orelse) or ast.Pass()

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        holds = self._known.decides(node.test)
        self.generic_visit(node)
        return node if holds is None else (node.body if holds else node.orelse)

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        if not (self._once(node.iter) and isinstance(node.target, ast.Name) and self._stays(node, node.target.id)):
            return node
        first = _Numbers(_Facts({node.target.id: 0}, {}))
        return [first.visit(each) for each in node.body]

    def _once(self, over: ast.expr) -> bool:
        is_range = isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range"
        return is_range and len(over.args) == 1 and self._known.of(over.args[0]) == 1  # type: ignore[attr-defined]

    def _stays(self, loop: ast.For, name: str) -> bool:
        """Nobody leaves the loop early, sets its variable, or reads it outside a loop that sets it."""
        inside = [each for part in loop.body for each in ast.walk(part)]
        left = any(isinstance(each, ast.Break | ast.Continue) for each in inside)
        moved = any(isinstance(each, ast.Name) and _is_store(each, name) for each in inside)
        return not (loop.orelse or left or moved or name in self._read_outside)


class _Calls(ast.NodeTransformer):
    """Calls of steps that something is known about get a name of their own."""

    def __init__(self, known: _Facts) -> None:
        self._known = known
        self.made: dict[str, tuple[Any, dict[str, Constants]]] = {}

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        callee = self._known.global_value(node.func)
        if not isinstance(callee, Dispatcher):
            return node
        constants: dict[str, Constants] = {}
        for parameter, given in zip(_parameters(callee), node.args, strict=False):
            if isinstance(given, ast.Starred):
                break
            value = None if isinstance(given, ast.Constant) else self._known.of(given)
            is_global = self._known.global_value(given) is not None  # which depends on the caller, not on the shape
            if value is not None and not is_global:
                constants[parameter] = value
        if constants:
            name = f"{callee.py_func.__name__}__{len(self.made)}"
            self.made[name] = callee, constants
            node.func = ast.Name(name, ast.Load())
        return node


class _Numbers(ast.NodeTransformer):
    """Puts known numbers where they are read from a variable."""

    def __init__(self, known: _Facts) -> None:
        self._known = known

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Load):
            value = None if self._known.global_value(node) is not None else self._known.of(node)
            if type(value) is int:
                return ast.copy_location(ast.Constant(value), node)
        return self.generic_visit(node)


def _parsed(step: Any) -> ast.Module:
    """A plain function's own source, at its own lines."""
    lines, starts = _source(step.__code__.co_filename)
    first, last = starts[step.__name__]
    tree = ast.parse("\n" * (first - 1) + "\n".join(lines[first - 1 : last]))
    function: Any = tree.body[0]
    function.decorator_list, function.returns = [], None
    for each in function.args.args:
        each.annotation = None
    return tree


@functools.cache
def _source(path: str) -> tuple[list[str], dict[str, tuple[int, int]]]:
    """The lines of a file, and where its functions begin and end."""
    text = Path(path).read_text(encoding="utf-8")
    functions = (each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef))
    return text.splitlines(), {each.name: (each.lineno, each.end_lineno or each.lineno) for each in functions}


def _parameters(step: Any) -> tuple[str, ...]:
    code = getattr(step, "py_func", step).__code__
    return tuple(code.co_varnames[: code.co_argcount])


def _stored(function: ast.FunctionDef) -> Iterator[str]:
    for each in ast.walk(function):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id


def _given(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Names and what they are set to, one by one."""
    for each in ast.walk(function):
        if isinstance(each, ast.Assign) and len(each.targets) == 1:
            target, value = each.targets[0], each.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=True))
            yield from ((name.id, given) for name, given in pairs if isinstance(name, ast.Name))


def _names_read_outside(node: ast.AST, loops: frozenset[str]) -> Iterator[str]:
    """Names that are read outside the loops that set them; `loops` are set around here."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in loops:
        yield node.id
    for each in ast.iter_child_nodes(node):
        is_body = isinstance(node, ast.For) and isinstance(node.target, ast.Name) and each in node.body
        yield from _names_read_outside(each, loops | {node.target.id} if is_body else loops)  # type: ignore[attr-defined]


def _is_store(node: ast.Name, name: str) -> bool:
    return node.id == name and isinstance(node.ctx, ast.Store)


def _is_code(value: Any) -> bool:
    return isinstance(value, types.CodeType)
