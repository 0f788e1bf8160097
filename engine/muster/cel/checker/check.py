"""Check a syntax tree against an environment.

`check` never raises for a mistake in an expression: it collects everything that is wrong, each at its place. The side
tables are keyed by node id. The code generator and the cost model read them.
"""

from collections.abc import Mapping
from types import MappingProxyType

from muster.cel.ast import Node
from muster.cel.checker import messages
from muster.cel.checker.infer import Inference
from muster.cel.env import CheckEnv
from muster.cel.errors import Issue
from muster.cel.types import Type
from muster.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CheckedExpression:
    """What the checker found.

    `types` gives each node's type; `overloads` each call's overload ids that fit (several where operands are
    `dyn`); `names` the full name of each resolved variable, type or namespaced function. `issues` are in the
    order of the text, errors before warnings at one place.
    """

    types: Mapping[int, Type]
    type: Type
    issues: tuple[Issue, ...]
    overloads: Mapping[int, tuple[str, ...]]
    names: Mapping[int, str]

    @property
    def ok(self) -> bool:
        """Whether the expression may run: there may be warnings, but no errors."""
        return all(issue.is_warning for issue in self.issues)


def check(node: Node, env: CheckEnv, text: str = "") -> CheckedExpression:
    """Check an expression in its environment. `text`, its source, gives issues their line and column."""
    walk = Inference(env, text)
    inferred = walk.infer(node)
    if env.result is not None and not walk.unify.assignable(env.result, inferred):
        walk.report(node, messages.wrong_result(env.result, walk.unify.close(inferred)))
    types = {id_: walk.unify.close(type_) for id_, type_ in walk.types.items()}
    return CheckedExpression(
        types=MappingProxyType(types),
        type=types[node.id],
        issues=tuple(sorted(set(walk.issues), key=lambda issue: (issue.offset, issue.is_warning, issue.message))),
        overloads=MappingProxyType(walk.overloads),
        names=MappingProxyType(walk.names),
    )
