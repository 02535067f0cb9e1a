"""Statements of a program -> LLVM. Branches on numbers that differ between lanes become masks, and nothing else changes."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ...contract.syntax import parse
from .branches import Branches, OpenLoop, RestartError
from .memory import PLACE_TYPE
from .refusal import UnsupportedError
from .values import Content, Number, NumberKind, codes_in, rebuilt, shape


@dataclass
class Compiled:
    """A function of the program for arguments of some kinds, and the kinds of what it returns."""

    code: Any
    results: list[NumberKind]
    single: bool


class ProgramUnit:
    """A whole program: its functions by name, and those compiled so far."""

    def __init__(self, text: str, module: Any, lanes: int, inline: bool):
        tree = parse(text)
        self.functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        self.module, self.lanes, self.inline = module, lanes, inline
        self.compiled: dict[Any, Compiled] = {}

    def call(self, name: str, arguments: list[Content], masked: bool) -> Compiled:
        key = (name, tuple(shape(a) for a in arguments), masked)
        if key not in self.compiled:
            self.compiled[key] = Lowering(self, name, arguments, masked).run()
        return self.compiled[key]


class Lowering(Branches):
    """One function. The first argument in LLVM is where results go, the second the mask where some lanes are not active."""

    def __init__(self, unit: ProgramUnit, name: str, arguments: list[Content], masked: bool):
        super().__init__(unit.module, unit.lanes)
        self.unit, self.functions, self.node = unit, unit.functions, unit.functions[name]
        self.arguments, self.masked = arguments, masked
        self.kinds: dict[str, NumberKind] = {}  # of variables, as wide as any assignment made them
        self.results: list[NumberKind] = []
        self.single = True
        self.early = False  # some lanes return before others
        self.uneven: set[int] = set()  # loops that some lanes leave before others
        codes = [code for a in arguments for code in codes_in(a)]
        types = [PLACE_TYPE, *([ir.VectorType(ir.IntType(1), self.lanes)] if masked else []), *(c.type for c in codes)]
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
        self.loops: list[OpenLoop] = []
        codes = list(self.function.args)
        self.out = codes.pop(0)
        self.mask = codes.pop(0) if self.masked else None
        self.alive: Any = None
        if self.early:
            self.alive = self.all_lanes()
        self.bound: dict[str, Content] = {}
        for argument, meaning in zip(self.node.args.args, self.arguments, strict=True):
            inside = rebuilt(meaning, codes)
            if isinstance(inside, Number):
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
        mask = self.mask
        for place in (self.alive, *(loop.running for loop in self.loops)):
            if place is not None:
                some = self.builder.load(place, typ=self.truths)
                mask = some if mask is None else self.builder.and_(some, mask)
        return mask

    @property
    def truths(self) -> Any:
        return ir.VectorType(ir.IntType(1), self.lanes)

    def all_lanes(self) -> Any:
        """A place for a mask, true in all lanes to begin with."""
        place = self.allocate(self.truths)
        self.builder.store(ir.Constant(self.truths, [1] * self.lanes), place)
        return place

    def drop(self, place: Any, mask: Any) -> None:
        """Take lanes out of the mask at a place."""
        now = self.builder.load(place, typ=self.truths)
        self.builder.store(self.builder.and_(now, self.builder.not_(mask)), place)

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
        for target_machine in node.targets:
            self.put(target_machine, value)

    def do_augassign(self, node: ast.AugAssign) -> None:
        load = parse(ast.unparse(node.target), mode="eval").body
        value = self.binary(node.op, self.one(load), self.one(node.value))
        self.put(node.target, value)

    def put(self, target_machine: ast.expr, value: Content) -> None:
        if isinstance(target_machine, (ast.Tuple, ast.List)):
            assert isinstance(value, tuple)
            for part, item in zip(target_machine.elts, value, strict=True):
                self.put(part, item)
        elif isinstance(target_machine, ast.Name):
            if isinstance(value, Number):
                self.assign(target_machine.id, value)
            else:
                self.bound[target_machine.id] = value
        elif isinstance(target_machine, ast.Subscript) and isinstance(value, Number):
            pointer, index = self.element(target_machine)
            self.store(pointer, index, value)
        else:
            raise UnsupportedError("an assignment to something else than numbers")

    def assign(self, name: str, value: Number, everywhere: bool = False) -> None:
        mask = None if everywhere else self.active()
        kind = value.kind if mask is None else NumberKind(value.kind.base, True)
        kind_so_far = self.kinds.get(name)
        if kind_so_far is None:
            self.kinds[name] = kind_so_far = kind
        elif kind_so_far.joined(kind) != kind_so_far:
            self.kinds[name] = kind_so_far.joined(kind)
            raise RestartError
        if name not in self.variables:
            self.variables[name] = self.allocate(kind_so_far.type(self.lanes))
        new = self.cast(value, kind_so_far).code
        if mask is not None:
            old = self.builder.load(self.variables[name], typ=kind_so_far.type(self.lanes))
            new = self.builder.select(mask, new, old)
        self.builder.store(new, self.variables[name])

    def do_return(self, node: ast.Return) -> None:
        meaning = () if node.value is None else self.expression(node.value)
        values = list(meaning) if isinstance(meaning, tuple) else [meaning]
        self.single = not isinstance(meaning, tuple)
        mask = self.active()
        if mask is not None and self.alive is None and not self.all_return():
            self.early = True
            raise RestartError
        for i, value in enumerate(values):
            assert isinstance(value, Number)
            kind = value.kind if mask is None else NumberKind(value.kind.base, True)
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
        self.drop(self.alive, mask)

    def all_return(self) -> bool:
        """Whether all lanes that are active in this call are active here."""
        whole = self.function.args[1] if self.masked else None
        return self.mask is whole and not any(loop.running for loop in self.loops)

    def call(self, name: str, inputs: list[Content]) -> Content:
        mask = self.active()
        compiled = self.unit.call(name, inputs, mask is not None)
        room = self.allocate(ir.ArrayType(ir.IntType(8), 8 * self.lanes * max(len(compiled.results), 1)))
        room.align = 64
        codes = [code for meaning in inputs for code in codes_in(meaning)]
        self.builder.call(compiled.code, [room, *([] if mask is None else [mask]), *codes])
        results = []
        for i, kind in enumerate(compiled.results):
            place = self.builder.gep(room, [ir.Constant(ir.IntType(64), 8 * self.lanes * i)], source_etype=ir.IntType(8))
            loaded = self.builder.load(place, typ=kind.type(self.lanes))
            loaded.align = 8
            results.append(Number(kind, loaded))
        return results[0] if compiled.single and results else tuple(results)
