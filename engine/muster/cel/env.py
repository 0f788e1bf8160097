"""The environment of an expression: its declared variables and functions, and the type of its result.

In an environment without variables every name is allowed and every value is `dyn`. One with variables is typed:
expressions are checked against it, and compiled for these types.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from muster.cel.declarations import Functions, Overload, TimeUse, by_function
from muster.cel.library.registry import Declarations
from muster.cel.types import BOOL, Type, json_digest, may_have_times, type_digest
from muster.dataclass import dataclass

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@lru_cache(maxsize=64)  # thousands of policies have the same
def _keys_digest(keys: frozenset[str]) -> str:
    return json_digest(sorted(keys))


@dataclass(frozen=True, slots=True)
class Function:
    """A function that the caller adds. `call` takes plain values in the order of `parameters`.

    A `member` is called on its first parameter: `x.f(y)`. Its exceptions become EvaluationErrors. `cost` is the cost of
    one call, in units of the budget. If it `walks`, it costs one unit more for each item of its texts, lists and maps.
    The result must depend on the arguments only, because programs are cached by signature. A function that may take
    times or durations declares in `moving` how it uses those that move with `now`.
    """

    call: Callable[..., Any]
    parameters: tuple[Type, ...]
    result: Type
    cost: int = 1
    member: bool = False
    walks: bool = False
    moving: TimeUse | None = None

    def __post_init__(self) -> None:
        """Refuse a function that takes times and does not declare how it uses moving ones."""
        if self.moving is None and any(map(may_have_times, self.parameters)):
            raise ValueError("a function that takes times declares how it uses those that move with now: see TimeUse")


@dataclass(frozen=True, slots=True, eq=False)
class Env:
    """Declarations for expressions. Environments with the same digest are equal.

    `container` is the namespace in which short names are looked up. `known_keys` lists the keys that are known to be
    written to a map variable. `result` is the type that an expression must have; `require_bool` asks for bool.
    `checked` overrides whether expressions are checked; by default they are if variables are declared. `overloads`
    declares functions that only the checker knows. `max_estimate` and `max_cost` are in units: an expression that may
    cost more than `max_estimate` is refused (None: never), an evaluation that costs more than `max_cost` is stopped
    (None: `EXPRESSION_LIMIT`).
    """

    variables: Mapping[str, Type] = field(default_factory=lambda: _NOTHING)
    functions: Mapping[str, Function] = field(default_factory=lambda: _NOTHING)
    container: str = ""
    require_bool: bool = False
    known_keys: Mapping[str, Collection[str]] = field(default_factory=lambda: _NOTHING)
    result: Type | None = None
    max_cost: int | None = None
    max_estimate: int | None = None
    checked: bool | None = None
    overloads: tuple[Overload, ...] = ()
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        """Compute the digest once."""
        object.__setattr__(self, "digest", self._digest())

    def _digest(self) -> str:
        described = {
            "variables": {name: type_digest(kind) for name, kind in self.variables.items()},
            "functions": {
                name: [
                    [type_digest(kind) for kind in entry.parameters],
                    type_digest(entry.result),
                    entry.cost,
                    entry.member,
                    entry.walks,
                ]
                for name, entry in self.functions.items()
            },
            "container": self.container,
            "checked": self.typed,
            "overloads": [f"{entry.id} {entry.signature}" for entry in self.overloads],
            "keys": {name: _keys_digest(frozenset(keys)) for name, keys in self.known_keys.items()},
            "result": None if self.expected is None else type_digest(self.expected),
            "cost": [self.max_cost, self.max_estimate],
        }
        return json_digest(described)

    @property
    def expected(self) -> Type | None:
        """The type that an expression must have; None for any."""
        return BOOL if self.require_bool else self.result

    @property
    def typed(self) -> bool:
        """Whether expressions are checked."""
        return bool(self.variables) if self.checked is None else self.checked

    def __eq__(self, other: object) -> bool:
        """Compare the declarations."""
        return isinstance(other, Env) and self.digest == other.digest

    def __hash__(self) -> int:
        """Return equal hashes for equal environments."""
        return hash(self.digest)


@dataclass(frozen=True, slots=True)
class CheckEnv:
    """An environment as the checker uses it: with the overloads of all functions."""

    variables: Mapping[str, Type]
    functions: Functions
    container: str
    known_keys: Mapping[str, Collection[str]]
    result: Type | None


def check_env(env: Env) -> CheckEnv:
    """Return the declarations of `env` and those of the language and its libraries."""
    of_caller = {
        name: (Overload(f"own_{name}", name, entry.parameters, entry.result, entry.member),)
        for name, entry in env.functions.items()
    }
    functions = Declarations({**by_function(env.overloads), **of_caller})
    return CheckEnv(env.variables, functions, env.container, env.known_keys, env.expected)
