"""Statements of a program -> LLVM. Branches on numbers that differ between lanes become masks, and nothing else changes."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from .memory import ADDRESS, Memory
from .refusal import UnsupportedError
from .values import TRUTH, WHOLE, Kind, Meaning, Pointer, Spread, Value, flat, rebuilt, shape

CONSTANTS = {"inf": math.inf, "nan": math.nan}


class RestartError(Exception):
    """A variable turned out to be wider than it looked: begin the function again."""


@dataclass
class Compiled:
    """A function of the program for arguments of some kinds, and the kinds of what it returns."""

    code: Any
    results: list[Kind]
    single: bool


class Unit:
    """A whole program: its functions by name, and those compiled so far."""

    def __init__(self, text: str, module: Any, lanes: int, inline: bool):
        tree = ast.parse(text)
        self.functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        self.module, self.lanes, self.inline = module, lanes, inline
        self.compiled: dict[Any, Compiled] = {}

    def call(self, name: str, arguments: list[Meaning], masked: bool) -> Compiled:
        key = (name, tuple(shape(a) for a in arguments), masked)
        if key not in self.compiled:
            self.compiled[key] = Lowering(self, name, arguments, masked).run()
        return self.compiled[key]


class Lowering(Memory):
    """One function. The first argument in LLVM is where results go, the second the mask where some lanes are not active."""

    def __init__(self, unit: Unit, name: str, arguments: list[Meaning], masked: bool):
        super().__init__(unit.module, unit.lanes)
        self.unit, self.node, self.arguments, self.masked = unit, unit.functions[name], arguments, masked
        self.kinds: dict[str, Kind] = {}  # of variables, as wide as any assignment made them
        self.results: list[Kind] = []
        self.single = True
        self.early = False  # some lanes return before others
        codes = [code for a in arguments for code in flat(a)]
        types = [ADDRESS, *([ir.VectorType(ir.IntType(1), self.lanes)] if masked else []), *(c.type for c in codes)]
        self.function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), types), self.module.get_unique_name(name))
        self.function.linkage = "internal"
        if unit.inline:
            self.function.attributes.add("alwaysinline")

    # ---- the whole -------------------------------------------------------------------------------------------------

    def run(self) -> Compiled:
        while True:
            try:
                self.attempt()
                return Compiled(self.function, self.results, self.single)
            except RestartError:
                self.function.blocks.clear()

    def attempt(self) -> None:
        self.entry = self.function.append_basic_block("entry")
        body = self.function.append_basic_block("body")
        self.builder = ir.IRBuilder(body)
        self.variables: dict[str, Any] = {}
        self.loops: list[tuple[Any, Any]] = []
        given = list(self.function.args)
        self.out = given.pop(0)
        self.mask = given.pop(0) if self.masked else None
        self.alive: Any = None
        if self.early:
            truth = ir.VectorType(ir.IntType(1), self.lanes)
            self.alive = self.allocate(truth)
            self.builder.store(ir.Constant(truth, [1] * self.lanes), self.alive)
        self.bound: dict[str, Meaning] = {}
        for argument, meaning in zip(self.node.args.args, self.arguments, strict=True):
            inside = rebuilt(meaning, given)
            if isinstance(inside, Value):
                self.assign(argument.arg, inside, everywhere=True)
            else:
                self.bound[argument.arg] = inside
        self.statements(self.node.body)
        if not self.builder.block.is_terminated:
            self.builder.ret_void()
        ir.IRBuilder(self.entry).branch(body)

    def allocate(self, kind: Any) -> Any:
        builder = ir.IRBuilder(self.entry)
        return builder.alloca(kind)

    def active(self) -> Any:
        if self.alive is None:
            return self.mask
        alive = self.builder.load(self.alive, typ=ir.VectorType(ir.IntType(1), self.lanes))
        return alive if self.mask is None else self.builder.and_(alive, self.mask)

    # ---- statements ------------------------------------------------------------------------------------------------

    def statements(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if self.builder.block.is_terminated:
                return
            handler = getattr(self, f"do_{type(statement).__name__.lower()}", None)
            if handler is None:
                raise UnsupportedError(f"the statement {type(statement).__name__}")
            handler(statement)

    def do_pass(self, node: ast.Pass) -> None:
        """Nothing."""

    def do_expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.expression(node.value)

    def do_assign(self, node: ast.Assign) -> None:
        value = self.expression(node.value)
        for target in node.targets:
            self.put(target, value)

    def do_augassign(self, node: ast.AugAssign) -> None:
        load = ast.parse(ast.unparse(node.target), mode="eval").body
        value = self.binary(node.op, self.one(load), self.one(node.value))
        self.put(node.target, value)

    def put(self, target: ast.expr, value: Meaning) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            assert isinstance(value, tuple)
            for part, item in zip(target.elts, value, strict=True):
                self.put(part, item)
        elif isinstance(target, ast.Name):
            if isinstance(value, Value):
                self.assign(target.id, value)
            else:
                self.bound[target.id] = value
        elif isinstance(target, ast.Subscript) and isinstance(value, Value):
            pointer, index = self.element(target)
            self.store(pointer, index, value)
        else:
            raise UnsupportedError("an assignment to something else than numbers")

    def assign(self, name: str, value: Value, everywhere: bool = False) -> None:
        mask = None if everywhere else self.active()
        kind = value.kind if mask is None else Kind(value.kind.base, True)
        known = self.kinds.get(name)
        if known is None:
            self.kinds[name] = known = kind
        elif known.joined(kind) != known:
            self.kinds[name] = known.joined(kind)
            raise RestartError
        if name not in self.variables:
            self.variables[name] = self.allocate(known.type(self.lanes))
        new = self.cast(value, known).code
        if mask is not None:
            old = self.builder.load(self.variables[name], typ=known.type(self.lanes))
            new = self.builder.select(mask, new, old)
        self.builder.store(new, self.variables[name])

    def do_return(self, node: ast.Return) -> None:
        meaning = () if node.value is None else self.expression(node.value)
        values = list(meaning) if isinstance(meaning, tuple) else [meaning]
        self.single = not isinstance(meaning, tuple)
        mask = self.active()
        if mask is not None and self.alive is None and (self.mask is not None and not self.plain_end(node)):
            self.early = True
            raise RestartError
        for i, value in enumerate(values):
            assert isinstance(value, Value)
            kind = value.kind if mask is None else Kind(value.kind.base, True)
            if i == len(self.results):
                self.results.append(kind)
            elif self.results[i].joined(kind) != self.results[i]:
                self.results[i] = self.results[i].joined(kind)
                raise RestartError
            kind = self.results[i]
            place = self.builder.gep(self.out, [ir.Constant(ir.IntType(64), 8 * self.lanes * i)], source_etype=ir.IntType(8))
            new = self.cast(value, kind).code
            if mask is not None:
                old = self.builder.load(place, typ=kind.type(self.lanes))
                old.align = 8
                new = self.builder.select(mask, new, old)
            self.builder.store(new, place).align = 8
        if self.alive is None or mask is None:
            self.builder.ret_void()
            return
        gone = self.builder.not_(mask)
        now = self.builder.load(self.alive, typ=gone.type)
        self.builder.store(self.builder.and_(now, gone), self.alive)

    def plain_end(self, node: ast.Return) -> bool:
        """Whether all lanes that are active in this call return here."""
        return self.mask is self.function.args[1] if self.masked else False

    # ---- branches and loops ----------------------------------------------------------------------------------------

    def do_if(self, node: ast.If) -> None:
        condition = self.truth(self.one(node.test))
        if condition.kind.wide:
            if ends_the_run(node):  # a lane that fails takes the others with it: they are run again one by one
                mask = self.active()
                code = condition.code if mask is None else self.builder.and_(condition.code, mask)
                self.branch(self.any(code), node.body, node.orelse)
                return
            self.masked_body(condition.code, node.body)
            if node.orelse:
                self.masked_body(self.builder.not_(condition.code), node.orelse)
            return
        self.branch(condition.code, node.body, node.orelse)

    def branch(self, condition: Any, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        then = self.function.append_basic_block("then")
        other = self.function.append_basic_block("else") if orelse else None
        after = self.function.append_basic_block("after")
        self.builder.cbranch(condition, then, other or after)
        self.inside(then, body, after)
        if other:
            self.inside(other, orelse, after)
        self.builder.position_at_end(after)

    def inside(self, block: Any, body: list[ast.stmt], after: Any) -> None:
        self.builder.position_at_end(block)
        self.statements(body)
        if not self.builder.block.is_terminated:
            self.builder.branch(after)

    def masked_body(self, condition: Any, body: list[ast.stmt]) -> None:
        """Statements for those lanes where a condition holds; skipped where it holds in none."""
        before = self.mask
        outer = self.active()
        mask = condition if outer is None else self.builder.and_(condition, outer)
        then, after = self.function.append_basic_block("some"), self.function.append_basic_block("after")
        self.builder.cbranch(self.any(mask), then, after)
        self.builder.position_at_end(then)
        self.mask = mask
        self.statements(body)
        if not self.builder.block.is_terminated:
            self.builder.branch(after)
        self.mask = before
        self.builder.position_at_end(after)

    def do_while(self, node: ast.While) -> None:
        head, body, after = (self.function.append_basic_block(n) for n in ("while", "turn", "after"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        condition = self.truth(self.one(node.test))
        if condition.kind.wide:
            raise UnsupportedError("a loop that goes on longer in some runs than in others")
        self.builder.cbranch(condition.code, body, after)
        self.turns(body, head, after, node.body)

    def turns(self, body: Any, head: Any, after: Any, statements: list[ast.stmt]) -> None:
        self.loops.append((head, after))
        self.inside(body, statements, head)
        self.loops.pop()
        self.builder.position_at_end(after)

    def do_for(self, node: ast.For) -> None:
        call = node.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"):
            raise UnsupportedError("a loop over something else than a range")
        assert isinstance(node.target, ast.Name)
        bounds = [self.cast(self.one(a), Kind(WHOLE)).code for a in call.args]
        long = ir.IntType(64)
        start, stop = (ir.Constant(long, 0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) == 3 else ir.Constant(long, 1)
        counter = self.allocate(long)
        self.builder.store(start, counter)
        head, body, again, after = (self.function.append_basic_block(n) for n in ("for", "turn", "again", "after"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        now = self.builder.load(counter, typ=long)
        up = self.builder.icmp_signed(">", step, ir.Constant(long, 0))
        below, above = self.builder.icmp_signed("<", now, stop), self.builder.icmp_signed(">", now, stop)
        going = self.builder.select(up, below, above)
        if self.alive is not None:
            going = self.builder.and_(going, self.any(self.active()))
        self.builder.cbranch(going, body, after)
        self.builder.position_at_end(again)
        self.builder.store(self.builder.add(self.builder.load(counter, typ=long), step), counter)
        self.builder.branch(head)
        self.builder.position_at_end(body)
        self.assign(node.target.id, Value(Kind(WHOLE), now), everywhere=True)
        self.loops.append((again, after))
        self.statements(node.body)
        if not self.builder.block.is_terminated:
            self.builder.branch(again)
        self.loops.pop()
        self.builder.position_at_end(after)

    def do_break(self, node: ast.Break) -> None:
        self.leave(1)

    def do_continue(self, node: ast.Continue) -> None:
        self.leave(0)

    def leave(self, which: int) -> None:
        if self.active() is not None:
            raise UnsupportedError("a loop that some runs leave before others")
        self.builder.branch(self.loops[-1][which])

    # ---- expressions -----------------------------------------------------------------------------------------------

    def one(self, node: ast.expr) -> Value:
        """An expression that is one number."""
        value = self.expression(node)
        if not isinstance(value, Value):
            raise UnsupportedError("several numbers where one is wanted")
        return value

    def expression(self, node: ast.expr) -> Meaning:
        handler = getattr(self, f"of_{type(node).__name__.lower()}", None)
        if handler is None:
            raise UnsupportedError(f"the expression {type(node).__name__}")
        meaning: Meaning = handler(node)
        return meaning

    def of_constant(self, node: ast.Constant) -> Meaning:
        if not isinstance(node.value, (bool, int, float)):
            raise UnsupportedError(f"the constant {node.value!r}")
        return self.number(node.value)

    def of_name(self, node: ast.Name) -> Meaning:
        if node.id in self.variables:
            kind = self.kinds[node.id]
            return Value(kind, self.builder.load(self.variables[node.id], typ=kind.type(self.lanes)))
        if node.id in self.bound:
            return self.bound[node.id]
        if node.id in CONSTANTS:
            return self.number(CONSTANTS[node.id])
        raise UnsupportedError(f"the name {node.id}")

    def of_tuple(self, node: ast.Tuple) -> Meaning:
        return tuple(self.expression(part) for part in node.elts)

    def of_binop(self, node: ast.BinOp) -> Meaning:
        return self.binary(node.op, self.one(node.left), self.one(node.right))

    def of_unaryop(self, node: ast.UnaryOp) -> Meaning:
        value = self.one(node.operand)
        if isinstance(node.op, ast.Not):
            return self.inverted(value)
        return self.negative(value) if isinstance(node.op, ast.USub) else value

    def of_compare(self, node: ast.Compare) -> Meaning:
        values = [self.one(n) for n in (node.left, *node.comparators)]
        results = [self.compare(op, a, b) for op, a, b in zip(node.ops, values, values[1:], strict=False)]
        whole = results[0]
        for result in results[1:]:
            a, b = self.together(whole, result)
            whole = Value(a.kind, self.builder.and_(a.code, b.code))
        return whole

    def of_boolop(self, node: ast.BoolOp) -> Meaning:
        first, rest = self.truth(self.one(node.values[0])), node.values[1:]
        if not rest:
            return first
        other = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        both = isinstance(node.op, ast.And)
        if first.kind.wide:
            second = self.cast(self.truth(self.under(first if both else self.inverted(first), other)), Kind(TRUTH, True))
            return Value(first.kind, (self.builder.and_ if both else self.builder.or_)(first.code, second.code))
        decided = ast.Constant(not both)
        return self.chosen(first, other if both else decided, decided if both else other)

    def under(self, condition: Value, node: ast.expr) -> Value:
        """An expression evaluated where a condition holds: lanes where it does not may read nowhere."""
        before, outer = self.mask, self.active()
        self.mask = condition.code if outer is None else self.builder.and_(condition.code, outer)
        value = self.one(node)
        self.mask = before
        return value

    def of_ifexp(self, node: ast.IfExp) -> Meaning:
        condition = self.truth(self.one(node.test))
        if not condition.kind.wide:
            return self.chosen(condition, node.body, node.orelse)
        yes = self.under(condition, node.body)
        return self.select(condition, yes, self.under(self.inverted(condition), node.orelse))

    def chosen(self, condition: Value, yes: ast.expr, no: ast.expr) -> Value:
        """One of two expressions, the other is not evaluated."""
        blocks = [self.function.append_basic_block(n) for n in ("yes", "no")]
        after = self.function.append_basic_block("after")
        self.builder.cbranch(condition.code, *blocks)
        values, ends = [], []
        for block, node in zip(blocks, (yes, no), strict=True):
            self.builder.position_at_end(block)
            values.append(self.one(node))
            ends.append(self.builder.block)
        kind = values[0].kind.joined(values[1].kind)
        codes = []
        for end, value in zip(ends, values, strict=True):
            self.builder.position_at_end(end)
            codes.append(self.cast(value, kind).code)
            self.builder.branch(after)
        self.builder.position_at_end(after)
        phi = self.builder.phi(kind.type(self.lanes))
        for code, end in zip(codes, ends, strict=True):
            phi.add_incoming(code, end)
        return Value(kind, phi)

    def element(self, node: ast.Subscript) -> tuple[Pointer | Spread, Value]:
        """Which array, and where in it."""
        array = self.expression(node.value)
        if not isinstance(array, (Pointer, Spread)):
            raise UnsupportedError("an element of something that is no array")
        if isinstance(node.slice, ast.Tuple):
            if isinstance(array, Spread) or array.columns is None:
                raise UnsupportedError("two indices of an array that is no matrix")
            row, column = (self.one(n) for n in node.slice.elts)
            return array, self.binary(ast.Add(), self.binary(ast.Mult(), row, array.columns), column)
        return array, self.one(node.slice)

    def of_subscript(self, node: ast.Subscript) -> Meaning:
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            inside = self.expression(node.value)
            if isinstance(inside, tuple):
                part: Meaning = inside[node.slice.value]
                return part
        return self.load(*self.element(node))

    def of_call(self, node: ast.Call) -> Meaning:
        if not isinstance(node.func, ast.Name):
            raise UnsupportedError("a call of something that has no name")
        name = node.func.id
        inputs = [self.expression(a) for a in node.args]
        if name in ("view", "matrix") and isinstance(inputs[0], Pointer):
            return self.stretch(inputs[0], [v for v in inputs[1:] if isinstance(v, Value)], name == "matrix")
        if name == "len" and isinstance(inputs[0], Pointer) and inputs[0].length is not None:
            return inputs[0].length
        if name in self.unit.functions and name not in ("floor", "ceil", "round_half_even"):
            return self.call(name, inputs)
        value = self.word(name, [v for v in inputs if isinstance(v, Value)])
        if value is None:
            raise UnsupportedError(f"the function {name}")
        return value

    def stretch(self, array: Pointer, bounds: list[Value], matrix: bool) -> Pointer:
        start = self.place(array, bounds[0])
        if matrix:
            return Pointer(array.kind, start, bounds[1], bounds[2])
        return Pointer(array.kind, start, self.binary(ast.Sub(), bounds[1], bounds[0]))

    def call(self, name: str, inputs: list[Meaning]) -> Meaning:
        mask = self.active()
        compiled = self.unit.call(name, inputs, mask is not None)
        room = self.allocate(ir.ArrayType(ir.IntType(8), 8 * self.lanes * max(len(compiled.results), 1)))
        room.align = 64
        codes = [code for meaning in inputs for code in flat(meaning)]
        self.builder.call(compiled.code, [room, *([] if mask is None else [mask]), *codes])
        results = []
        for i, kind in enumerate(compiled.results):
            place = self.builder.gep(room, [ir.Constant(ir.IntType(64), 8 * self.lanes * i)], source_etype=ir.IntType(8))
            loaded = self.builder.load(place, typ=kind.type(self.lanes))
            loaded.align = 8
            results.append(Value(kind, loaded))
        return results[0] if compiled.single and results else tuple(results)


def ends_the_run(node: ast.If) -> bool:
    """Whether a branch returns a status, a whole number."""
    returns = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
    return any(isinstance(value, ast.Constant) and type(value.value) is int for value in returns)
