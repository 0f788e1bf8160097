"""All messages of the checker: what is wrong, and what to do. One function per message."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple

from muster.cel import ast
from muster.cel.declarations import OPERATORS, Overload
from muster.cel.types import BOOL, StringType, Type
from muster.regex import Regex


class IssueMessage(NamedTuple):
    """The text of an issue, without its place."""

    text: str
    hint: str = ""
    is_warning: bool = False


def _listed(names: Iterable[str], limit: int = 12) -> str:
    ordered = list(names)
    shown = ", ".join(f"'{name}'" for name in ordered[:limit])
    return f"{shown} and {len(ordered) - limit} more" if len(ordered) > limit else shown


def described(node: ast.Node) -> str:
    """Return the name of a node's value in messages: its path (`lease.spec`, `self.items[].name`) or a description."""
    match node:
        case ast.Ident():
            return node.name
        case ast.Select():
            return f"{described(node.operand)}.{node.field}"
        case ast.IndexNode(index=ast.Literal(value=str() as key)):
            return f"{described(node.operand)}['{key}']"
        case ast.IndexNode(index=ast.Literal(value=int() as position)):
            return f"{described(node.operand)}[{position}]"
        case ast.IndexNode():
            return f"{described(node.operand)}[]"
        case ast.Call(target=None) if not node.function[0].isalpha():
            return "the result"
        case ast.Call():
            return f"the result of {node.function}()"
        case ast.Macro():
            return f"the result of {node.name}()"
        case ast.Literal():
            return "the literal"
        case _:
            return "the value"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return `did you mean 'x'?` for the known name that is like `name`, ignoring case; empty if there is none."""
    by_folded = {other.casefold(): other for other in sorted(candidates, reverse=True) if other != name}
    folded = name.casefold()
    nearest = [folded] if folded in by_folded else get_close_matches(folded, sorted(by_folded), n=1)
    return f"did you mean {by_folded[nearest[0]]!r}?" if nearest else ""


def undeclared_variable(name: str, declared: Iterable[str]) -> IssueMessage:
    """A name that is not declared."""
    names = sorted(declared)
    hint = did_you_mean(name, names) or f"declared names are {_listed(names)}"
    return IssueMessage(f"undeclared name '{name}'", hint)


#: What functions of other languages are called in CEL.
_OF_OTHER_LANGUAGES: Final = {
    **dict.fromkeys(("len", "length", "count"), "write size(...)"),
    **dict.fromkeys(("includes", "has_key", "haskey"), "write `x in list`, or 'part' with text.contains('part')"),
    **dict.fromkeys(("any", "some"), "write list.exists(x, ...)"),
    **dict.fromkeys(("str", "tostring"), "write string(...)"),
    **dict.fromkeys(("lower", "tolower", "tolowercase"), "write text.lowerAscii()"),
    **dict.fromkeys(("upper", "toupper", "touppercase"), "write text.upperAscii()"),
}


def undeclared_function(name: str, functions: Iterable[str]) -> IssueMessage:
    """A function that no library has."""
    hint = _OF_OTHER_LANGUAGES.get(name.casefold()) or did_you_mean(name, (k for k in functions if k not in OPERATORS))
    return IssueMessage(f"undeclared function '{name}'", hint)


def unknown_field(owner: str, name: str, fields: Iterable[str]) -> IssueMessage:
    """A field that is not in the schema."""
    names = sorted(fields)
    hint = did_you_mean(name, names) or (f"its fields are {_listed(names)}" if names else "it has no fields")
    return IssueMessage(f"{owner} has no field '{name}'", hint)


def no_fields(owner: str, type_: Type, name: str) -> IssueMessage:
    """A field of a value that has no fields."""
    return IssueMessage(f"{owner} is {article(type_)} and has no field '{name}'")


def almost_a_field(owner: str, name: str, fields: Iterable[str]) -> IssueMessage | None:
    """A field that the schema allows but does not name, and that is almost the name of another field."""
    near = get_close_matches(name, sorted(fields), n=1, cutoff=0.8)
    if not near:
        return None
    return IssueMessage(f"the schema of {owner} has no field '{name}'", f"did you mean '{near[0]}'?", is_warning=True)


def no_overload(function: str, arguments: Sequence[Type], overloads: Sequence[Overload]) -> IssueMessage:
    """A function or operator that exists, but not for these types."""
    shown = ", ".join(map(named, arguments))
    text = f"'{OPERATORS.get(function, function)}' cannot be applied to ({shown})"
    if function == "_+_" and any(isinstance(type_, StringType) for type_ in arguments):
        return IssueMessage(text, "convert the other: string(...)")
    if function in ("_+_", "_<_", "_<=_", "_>_", "_>=_") and (hint := _conversion(arguments[0], arguments[1])):
        return IssueMessage(text, hint)
    near = [overload for overload in overloads if _is_near(overload, arguments)] or overloads
    exist = list(dict.fromkeys(overload.signature for overload in near))
    more = f" and {len(exist) - 8} more" if len(exist) > 8 else ""
    return IssueMessage(text, f"there is {', '.join(exist[:8])}{more}")


def _is_near(overload: Overload, arguments: Sequence[Type]) -> bool:
    """Return whether the overload takes one of the arguments at its position, so that it may be meant."""
    pairs = zip(overload.params, arguments, strict=False)
    return any(type(param) is type(argument) and str(param) == str(argument) for param, argument in pairs)


def different_branches(then: Type, otherwise: Type) -> IssueMessage:
    """A conditional whose branches have no type in common."""
    text = f"the branches of '?:' differ: {article(then)}, {article(otherwise)}"
    return IssueMessage(text, "give both one type, or wrap one in dyn(...)")


def never_equal(operator: str, left: Type, right: Type) -> IssueMessage:
    """A comparison of types that have no value in common."""
    outcome = "true" if operator == "_!=_" else "false"
    text = f"'{OPERATORS[operator]}' is always {outcome}: {article(left)} never equals {article(right)}"
    return IssueMessage(text, _conversion(left, right))


def never_in(element: Type, container: Type) -> IssueMessage:
    """An element of a type that the container cannot hold."""
    return IssueMessage(f"'in' is always false: no {named(container)} contains {article(element)}")


def not_a_value(owner: str, value: str, values: Sequence[str], operator: str = "_==_") -> IssueMessage:
    """A comparison of an enum with a text that it does not have."""
    fact = f"{owner} is never '{value}', only {_listed(values)}"
    if operator != "@in":
        fact = f"'{OPERATORS[operator]}' is always {'true' if operator == '_!=_' else 'false'}: {fact}"
    return IssueMessage(fact, did_you_mean(value, values))


def unknown_key(owner: str, key: str, keys: Iterable[str]) -> IssueMessage:
    """A key of a map that is not known to be written: a typo, or nothing writes it yet."""
    names = sorted(keys)
    hint = did_you_mean(key, names) or (f"known keys are {_listed(names)}" if names else "no key is known")
    if owner == "calendars":
        return IssueMessage(f"no Calendar is called {key!r}", hint, is_warning=True)
    return IssueMessage(f"nothing is known to set {owner}['{key}']", hint, is_warning=True)


def constant_condition(value: str, effect: str) -> IssueMessage:
    """A literal as a condition."""
    return IssueMessage(f"this condition is always {value}: {effect}", is_warning=True)


def not_iterable(macro: str, type_: Type) -> IssueMessage:
    """A comprehension over a value without elements."""
    return IssueMessage(f"'{macro}' needs a list or a map, this is {article(type_)}")


def not_bool(macro: str, type_: Type) -> IssueMessage:
    """A condition of a comprehension that is not a bool."""
    return IssueMessage(f"the condition of '{macro}' must be a bool, this is {article(type_)}")


def not_optional(noun: str, type_: Type) -> IssueMessage:
    """An element or entry marked with `?` that is not an optional."""
    return IssueMessage(f"{noun} marked with '?' must be an optional, this is {article(type_)}")


def not_a_key(type_: Type) -> IssueMessage:
    """A key of a map literal with a type that map keys cannot have."""
    return IssueMessage(f"a map's key must be a string, int, uint or bool, this is {article(type_)}")


def not_entries(macro: str, type_: Type) -> IssueMessage:
    """A `transformMapEntry` whose body is not a map."""
    return IssueMessage(f"the body of '{macro}' must be a map such as {{k: v}}, this is {article(type_)}")


def wrong_result(required: Type, actual: Type) -> IssueMessage:
    """An expression whose type is not the required one."""
    hint = "compare it with a value: ... == ..." if required == BOOL else ""
    return IssueMessage(f"the expression gives {article(actual)}, but its place needs {article(required)}", hint)


def unknown_message(name: str) -> IssueMessage:
    """A message literal; protobuf messages are not supported."""
    return IssueMessage(f"unknown type '{name}'", "write objects as maps, such as {'key': value}")


def too_deep() -> IssueMessage:
    """An expression that is nested too deeply for the checker."""
    return IssueMessage("the expression is nested too deeply", "split it with variables")


def always_fails(reason: str) -> IssueMessage:
    """A literal argument that always makes its call fail."""
    return IssueMessage(f"this call always fails: {reason}")


def repeated_key(key: str) -> IssueMessage:
    """A map literal that has a key twice."""
    return IssueMessage(f"this map always fails: it has the key '{key}' twice")


_WRAPPED = Regex(r"wrapper\(([^()]*)\)")


def named(type_: Type) -> str:
    """Return the name of a type in messages: the specification's notation, without null."""
    text = _WRAPPED.replace(str(type_), lambda match: match[1])
    return {"null_type": "null", "dyn": "value of unknown type"}.get(text, text)


def article(type_: Type) -> str:
    """Return the type's name with its article: `an int`, `a list(string)`."""
    name = named(type_)
    return name if name == "null" else f"an {name}" if name[0] in "aeio" else f"a {name}"


def _conversion(left: Type, right: Type) -> str:
    """Return a hint how to make two types comparable; empty if there is none."""
    names = (named(left), named(right))
    if "null" in names:
        return "use has(...) to ask whether a field is present"
    for source, target in (names, names[::-1]):
        if source in ("timestamp", "duration", "int", "uint", "double") and target == "string":
            return f"convert the string: {source}(...)"
        if source == "bool" and target == "string":
            return "a bool is true or false, without quotes; a condition's status is a string: 'True'"
        if source == "duration" and target == "int":
            return "write the length of time as duration('90s')"
        if source == "timestamp" and target == "duration":
            return "compare a length of time with a difference of two instants, such as now - t"
        if (source, target) in (("int", "double"), ("uint", "double"), ("int", "uint")):
            return f"convert one of them: {target}(...)"
    return ""
