"""What a block function may contain: read when the class is made, so that nothing else ever reaches a program."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ..errors import BlockDefinitionError, did_you_mean, listing
from .syntax import fresh_arrays, parsed
from .vocabulary import VOCABULARY, WORDS

#: What is refused, and what to write instead.
INSTEAD: dict[type, tuple[str, str]] = {
    ast.Try: ("try", "test for what would fail with an if before it"),
    ast.With: ("with", "block functions only compute; leave files and locks to table_<name>, which is called before the run"),
    ast.Lambda: ("lambda", "write a function of the module and call it"),
    ast.FunctionDef: ("a function within a function", "put it into the module and call it"),
    ast.AsyncFunctionDef: ("async", "block functions only compute"),
    ast.ClassDef: ("a class", "put it into the module"),
    ast.ListComp: ("a comprehension", "write a for loop that fills `out`, or a tuple element by element"),
    ast.SetComp: ("a comprehension", "write a for loop"),
    ast.DictComp: ("a comprehension", "write a for loop"),
    ast.GeneratorExp: ("a generator", "write a for loop that adds up"),
    ast.Global: ("global", "what a block remembers is a memory, returned by update"),
    ast.Nonlocal: ("nonlocal", "what a block remembers is a memory, returned by update"),
    ast.Delete: ("del", "leave the name as it is"),
    ast.Raise: ("raise", "refuse settings in check(...), which is called when the block is made"),
    ast.Assert: ("assert", "refuse settings in check(...), which is called when the block is made"),
    ast.Yield: ("yield", "return the values"),
    ast.YieldFrom: ("yield", "return the values"),
    ast.Await: ("await", "block functions only compute"),
    ast.Import: ("import", "import at the top of the module"),
    ast.ImportFrom: ("import", "import at the top of the module"),
    ast.NamedExpr: (":=", "assign on a line of its own"),
    ast.Starred: ("*", "write the arguments one by one"),
    ast.JoinedStr: ("an f-string", "block functions compute numbers"),
    ast.Set: ("a set", "write a tuple"),
    ast.Dict: ("a dict", "only what is returned may be one, by name: return {'y': value}"),
    ast.Slice: ("a slice", "take the elements one by one"),
    ast.Match: ("match", "write if and elif"),
}
STATEMENTS = (
    *(ast.Return, ast.If, ast.For, ast.While, ast.Break, ast.Continue, ast.Assign, ast.AnnAssign, ast.AugAssign),
    *(ast.Pass, ast.Expr),
)
EXPRESSIONS = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Tuple, ast.List, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp),
    *(ast.IfExp, ast.Subscript, ast.Call),
)
#: Functions of modules that have been read, with the arguments they may change.
READ: set[tuple[Callable[..., Any], frozenset[str], frozenset[str]]] = set()
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)


def check_text(
    title: str, function: Callable[..., Any], own: Iterable[str], laws: Iterable[str] = (), named: bool = False
) -> None:
    """Refuse a block function whose text cannot be compiled; `own` are the arrays it may change, `laws` what it may call."""
    FunctionReader(title, function, set(own), set(laws), named, ()).body()


class FunctionReader:
    """One function being read."""

    def __init__(
        self,
        title: str,
        function: Callable[..., Any],
        own: set[str],
        laws: set[str],
        named: bool,
        callers: tuple[Callable[..., Any], ...],
    ):
        self.tree = parsed(function)
        self.title, self.function, self.laws, self.named, self.callers = title, function, laws, named, callers
        self.own = own | fresh_arrays(self.tree)
        self.inputs = {a.arg for a in self.tree.args.args}
        self.locals = set(function.__code__.co_varnames)

    def refuse(self, node: ast.AST, what: str, instead: str) -> NoReturn:
        line = getattr(node, "lineno", self.tree.lineno) - self.tree.lineno + 1
        raise BlockDefinitionError(
            f"block {self.title}, line {line} of the function: {what}; {instead}{'' if instead.endswith('?') else '.'}"
        )

    def body(self) -> None:
        plain = self.tree.args
        if plain.vararg or plain.kwarg or plain.kwonlyargs or plain.posonlyargs:
            self.refuse(self.tree, "it takes * or **", "name the arguments one by one")
        free = self.function.__code__.co_freevars
        if free:
            self.refuse(self.tree, f"it uses '{free[0]}' of a function around it", "hand it over as an argument or a setting")
        self.block(self.tree.body, set(self.inputs))

    # ---- statements ------------------------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt], names: set[str]) -> set[str] | None:
        """The names that certainly have a value after these statements; None where the end is never reached."""
        for statement in statements:
            after = self.statement(statement, names)
            if after is None:
                return None
            names = after
        return names

    def statement(self, node: ast.stmt, names: set[str]) -> set[str] | None:
        if not isinstance(node, STATEMENTS):
            self.unknown(node)
        match node:
            case ast.Return(value=value):
                if isinstance(value, ast.Dict) and self.named:
                    self.fields(value, names)
                elif value is not None:
                    self.expression(value, names)
                return None
            case ast.Break() | ast.Continue():
                return None
            case ast.If(test=test, body=body, orelse=orelse):
                self.expression(test, names)
                ways = [w for w in (self.block(body, set(names)), self.block(orelse, set(names))) if w is not None]
                return set.intersection(*ways) if ways else None
            case ast.For() | ast.While():
                return self.loop(node, names)
            case ast.Assign(targets=targets, value=value):
                self.expression(value, names)
                for target in targets:
                    names = self.target(target, names)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.expression(value, names)
                    names = self.target(target, names)
            case ast.AugAssign(target=target, op=op, value=value):
                self.operator(node, op)
                self.expression(value, names)
                if isinstance(target, ast.Name):
                    self.name(target, names)
                names = self.target(target, names)
            case ast.Expr(value=value) if not isinstance(value, ast.Constant):
                self.expression(value, names)
                if not isinstance(value, ast.Call):
                    self.refuse(node, f"'{ast.unparse(value)}' has no effect", "assign it or return it")
        return names

    def loop(self, node: ast.For | ast.While, names: set[str]) -> set[str]:
        """What a loop sets has no value after it where it makes no turn."""
        if node.orelse:
            self.refuse(node, "a loop has an else", "set a number in the loop and test it behind")
        if isinstance(node, ast.While):
            self.expression(node.test, names)
            self.block(node.body, set(names))
            return names
        source = node.iter
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "range":
            for limit in source.args:
                self.expression(limit, names)
        else:
            self.expression(source, names)
        self.block(node.body, self.target(node.target, set(names)))
        return names

    def target(self, node: ast.expr, names: set[str]) -> set[str]:
        """What is assigned to: names, tuples of names, elements of arrays the function may change."""
        match node:
            case ast.Name(id=name):
                return names | {name}
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    names = self.target(part, names)
                return names
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                if name not in self.own:
                    arrays = f"of {listing(sorted(self.own))}" if self.own else "of `out` or of an array memory"
                    self.refuse(node, f"it stores into '{ast.unparse(node)}'", f"a function may change elements {arrays} only")
                self.expression(index, names)
                return names
        self.refuse(node, f"it assigns to '{ast.unparse(node)}'", "assign to names, or to elements of `out` and array memories")

    # ---- expressions -----------------------------------------------------------------------------------------------

    def expression(self, node: ast.AST, names: set[str]) -> None:
        if not isinstance(node, EXPRESSIONS):
            self.unknown(node)
        match node:
            case ast.Constant(value=value):
                if not isinstance(value, (int, float, str, type(None))):
                    self.refuse(node, f"it holds {value!r}", "numbers and texts are allowed")
            case ast.Name():
                self.name(node, names)
            case ast.Attribute():
                self.attribute(node)
            case ast.Call():
                self.call(node, names)
            case ast.BinOp(op=op):
                self.operator(node, op)
            case ast.UnaryOp(op=ast.Invert()):
                self.refuse(node, "it uses ~", "write 'not' or a minus")
            case ast.Subscript(value=ast.Tuple() | ast.List() | ast.Name() | ast.Subscript() | ast.Call()):
                pass
            case ast.Subscript():
                self.refuse(node, f"it takes an element of '{ast.unparse(node.value)}'", "give that a name first")
        if not isinstance(node, (ast.Attribute, ast.Call)):
            for part in ast.iter_child_nodes(node):
                if isinstance(part, ast.expr):
                    self.expression(part, names)

    def operator(self, node: ast.AST, op: ast.operator) -> None:
        if not isinstance(op, OPERATORS):
            self.refuse(node, f"it uses the operator {type(op).__name__} in '{ast.unparse(node)}'", "use + - * / // % **")

    def name(self, node: ast.Name, names: set[str]) -> None:
        name = node.id
        if name in names:
            return
        if name in self.locals:
            self.refuse(node, f"'{name}' may have no value there", "give it one before the branch or loop that sets it")
        value = self.function.__globals__.get(name)
        if isinstance(value, types.FunctionType) or (name in WORDS and WORDS[name].form != "constant"):
            self.refuse(node, f"'{name}' is a function", f"call it: {name}(...)")
        if not (name in WORDS or isinstance(value, (int, float, str, tuple))):
            self.unseen(node, name)

    def unseen(self, node: ast.AST, name: str) -> NoReturn:
        options = [*sorted(self.locals), *VOCABULARY]
        self.refuse(
            node,
            f"it uses '{name}', which a compiled function cannot see",
            f"it may use its arguments, numbers and functions of its module, and: {listing(VOCABULARY)}"
            + did_you_mean(name, options).replace(" Did", ". Did"),
        )

    def attribute(self, node: ast.Attribute) -> None:
        if not (isinstance(node.value, ast.Name) and node.value.id == "math" and node.attr in WORDS):
            math = getattr(node.value, "id", "") == "math"
            instead = f"the words are: {listing(VOCABULARY)}" if math else "use names without dots"
            self.refuse(node, f"it uses '{ast.unparse(node)}'", instead)

    def call(self, node: ast.Call, names: set[str]) -> None:
        for part in [*node.args, *(k.value for k in node.keywords)]:
            self.expression(part, names)
        if isinstance(node.func, ast.Attribute):
            self.attribute(node.func)
            name, value = node.func.attr, None
        elif isinstance(node.func, ast.Name):
            name, value = node.func.id, self.function.__globals__.get(node.func.id)
        else:
            self.refuse(node, f"it calls '{ast.unparse(node.func)}'", "call a word or a function of the module by its name")
        if name in self.laws and isinstance(node.func, ast.Name):
            return
        if name in self.locals and isinstance(node.func, ast.Name):
            self.refuse(node, f"it calls its own '{name}'", "call a word or a function of the module by its name")
        if isinstance(value, types.FunctionType) and not is_word(name, value):
            self.helper(node, name, value)
        elif name not in WORDS or WORDS[name].form == "constant":
            self.unseen(node, name)
        elif name == "range":
            self.refuse(node, "it uses range(...) as a value", "range stands in 'for i in range(n)' only")
        elif WORDS[name].form == "matrix":
            return
        elif node.keywords or (WORDS[name].takes and len(node.args) != WORDS[name].takes) or not node.args:
            self.refuse(
                node, f"it calls '{ast.unparse(node)}'", f"{name} takes {WORDS[name].takes or 'one or more'} plain argument(s)"
            )

    def helper(self, node: ast.Call, name: str, function: Any) -> None:
        """A function of the module: what it contains is read too."""
        if any(k.arg is None for k in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
            self.refuse(node, f"it calls {name} with * or **", "write the arguments one by one")
        if function is self.function or function in self.callers:
            self.refuse(node, f"'{name}' calls itself", "write a loop")
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        values = [*names[: len(node.args)], *(k.arg for k in node.keywords)]
        required = names[: len(names) - len(function.__defaults__ or ())]
        if (
            len(node.args) > len(names)
            or set(values) - set(names)
            or len(set(values)) < len(values)
            or set(required) - set(values)
        ):
            self.refuse(node, f"it calls '{ast.unparse(node)}'", f"{name} takes: {listing(names)}")
        passed = dict(zip(names, node.args, strict=False)) | {str(k.arg): k.value for k in node.keywords}
        own = {n for n in names if not isinstance(a := passed.get(n), ast.Name) or a.id in self.own or a.id not in self.inputs}
        laws = {n for n, a in passed.items() if isinstance(a, ast.Name) and a.id in self.laws}
        if (function, frozenset(own), frozenset(laws)) not in READ:
            FunctionReader(f"{self.title}, in {name}", function, own, laws, False, (*self.callers, self.function)).body()
            READ.add((function, frozenset(own), frozenset(laws)))

    def fields(self, node: ast.Dict, names: set[str]) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                self.refuse(node, "it returns a dict with other keys than names", "write {'name': value}")
            self.expression(value, names)

    def unknown(self, node: ast.AST) -> NoReturn:
        kind, instead = INSTEAD.get(type(node), (type(node).__name__, "see docs/own-blocks.md for what a function may contain"))
        self.refuse(node, f"it has {kind} ('{ast.unparse(node).splitlines()[0][:60]}')", instead)


def is_word(name: str, value: Any) -> bool:
    """Whether a function of that name is the engine's own word."""
    return name in WORDS and value is WORDS[name].meaning
