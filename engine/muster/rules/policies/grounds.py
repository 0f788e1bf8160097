"""Grounds: what a rule or a policy says, so that an edit elsewhere is not taken for a change of it.

What a rule decided about a cluster stays while the cluster is silent and the rule is still there. A rule is the same if
its expression, its policy's `matchConditions`, and the `variables` and `params` that they use are. Names, labels, the
policy's other rules, its selector and the order of lists do not count, nor do spaces, comments, quotes and parentheses.

What is counted for a policy, such as the time since a budget holds or since a pulse, goes on under another name.

Digests are stored in derived files, so the form that is digested must not change between versions.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import partial

from muster import cel
from muster.cel import ast
from muster.data.tree import Tree, digest_of
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.rules.policies.expressions import handles_silence_itself
from muster.rules.policies.variables import CONDITION_MAPS


def ground_of(obj: Object) -> str:
    """Return a digest of what a policy says as a whole, whatever its name and labels are."""
    return _short(obj.spec)


@dataclass(frozen=True, slots=True)
class ConditionTypes:
    """Condition types; `every`: all of them."""

    names: frozenset[str] = frozenset()
    every: bool = False

    def __contains__(self, type_: str) -> bool:
        """Is the condition type among them?"""
        return self.every or type_ in self.names

    def __or__(self, other: "ConditionTypes") -> "ConditionTypes":
        return ConditionTypes(self.names | other.names, self.every or other.every)

    def covers(self, other: "ConditionTypes") -> bool:
        """Are all the other ones among them?"""
        return self.every or (not other.every and other.names <= self.names)


@dataclass(frozen=True, slots=True)
class Grounds:
    """The `variables` and `params` of one policy, prepared: each variable's digest, and the conditions it reads."""

    params: Mapping[str, Tree]
    digests: Mapping[str, str]
    reads: Mapping[str, ConditionTypes]

    @classmethod
    def of(cls, variables: Mapping[str, cel.Program], params: Tree) -> "Grounds":
        """Prepare a policy's variables; each uses only those above it."""
        digests: dict[str, str] = {}
        reads: dict[str, ConditionTypes] = {}
        grounds = cls(params if isinstance(params, dict) else {}, digests, reads)
        for name, program in variables.items():
            reads[name] = grounds.types_read(program)
            digests[name] = _short(grounds._content(program))
        return grounds

    def digest(self, when: cel.Program, guards: Iterable[cel.Program] = ()) -> str:
        """Return a digest of a rule with its guards."""
        return _short(
            {"when": self._content(when), "guards": sorted({_short(self._content(guard)) for guard in guards})}
        )

    def _content(self, program: cel.Program) -> Tree:
        """What an expression says: its nodes in pre-order, each with the number of its parts, so that no two
        expressions have the same list; digests in place of variables, and values in place of params."""
        content: list[Tree] = []
        waiting = [program.node]
        while waiting:
            node = waiting.pop()
            if (value := self._value(node)) is not None:
                content.append(value)
                continue
            parts = ast.children(node)
            content.append([type(node).__name__, _label(node), len(parts)])
            waiting.extend(reversed(parts))
        return content

    def _value(self, node: ast.Node) -> Tree:
        """What replaces a variable, or a param; None for any other node."""
        match node:
            case ast.Select(operand=ast.Ident(name="variables"), field=name) if name in self.digests:
                return {"variable": self.digests[name]}
            case ast.Select(operand=ast.Ident(name="params"), field=name) if name in self.params:
                return {"param": self.params[name]}
            case ast.Ident(name="variables"):
                return {"variables": dict(self.digests)}
            case ast.Ident(name="params"):
                return {"params": dict(self.params)}
            case _:
                return None

    def types_read(self, *programs: cel.Program) -> ConditionTypes:
        """Return the condition types that expressions read, directly or through variables; every type if it is not
        written which."""
        types = ConditionTypes()
        for program in programs:
            for node in ast.walk(program.node):
                types |= self._variable_reads(node)
                for read in map(partial(_types_at, node), CONDITION_MAPS):
                    types |= read
        return types

    def _variable_reads(self, node: ast.Node) -> ConditionTypes:
        types = ConditionTypes()
        if isinstance(node, ast.Select) and _is(node.operand, "variables"):
            return self.reads.get(node.field, types)
        if isinstance(node, ast.IndexNode) and _is(node.operand, "variables"):
            for read in self.reads.values():
                types |= read
        return types

    def silence_handled(self, programs: Iterable[cel.Program]) -> ConditionTypes:
        """Return the condition types whose silence the policy handles itself, as with a rule for Unknown."""
        handled = ConditionTypes()
        for program in programs:
            if handles_silence_itself(program.node):
                types = self.types_read(program)
                handled |= types if types.names else ConditionTypes(every=True)
        return handled


def _label(node: ast.Node) -> Tree:
    """What a node is besides its parts."""
    match node:
        case ast.Literal(value=value):
            return [type(value).__name__, repr(value)]
        case ast.Ident(name=name) | ast.Has(field=name) | ast.Bind(name=name):
            return name
        case ast.Select():
            return [node.field, node.optional]
        case ast.IndexNode():
            return node.optional
        case ast.Call():
            return [node.function, node.target is not None]
        case ast.ListNode():
            return sorted(node.optional)
        case ast.MapNode():
            return [entry.optional for entry in node.entries]
        case ast.Struct():
            return [node.name, [[field.name, field.optional] for field in node.fields]]
        case ast.Macro():
            return [node.name, list(node.variables)]


def _short(content: Tree) -> str:
    return digest_of(content)[:12]


def _types_at(node: ast.Node, variable: str) -> ConditionTypes:
    """The types read where a node has the variable as a direct part."""
    if not any(_is(part, variable) for part in ast.children(node)):
        return ConditionTypes()
    match node:
        case ast.Select(field=name) | ast.Has(field=name) | ast.IndexNode(index=ast.Literal(value=str(name))):
            return ConditionTypes(frozenset((name,)))
        case ast.Call():
            names = _literals(node.args if node.target is None else (node.target, *node.args))
            return ConditionTypes(names, every=not names)
        case _:
            return ConditionTypes(every=True)


def _literals(nodes: Collection[ast.Node]) -> frozenset[str]:
    return frozenset(node.value for node in nodes if isinstance(node, ast.Literal) and isinstance(node.value, str))


def _is(node: ast.Node, name: str) -> bool:
    return isinstance(node, ast.Ident) and node.name == name
