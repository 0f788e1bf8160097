"""`dataclass` of the standard library, at a tenth of its cost.

A command defines two hundred dataclasses before it does anything. The standard library compiles six methods for each,
which was a quarter of the time of the pre-commit hook. Here, `__init__` is compiled when the first instance is made,
and the other methods are closures or shared. Instances of a frozen class with slots are also created faster.

Fields, arguments, methods, errors, `replace`, `fields` and `asdict` are those of the standard library, except: there is
no `init=False`, `repr=False`, `unsafe_hash=True` or `InitVar`, and a subclass of a frozen class is frozen, too. To type
checkers it is the standard library's decorator.
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, order=False):
        """Make a class a dataclass."""
        if cls is None:
            return lambda cls: _define(cls, frozen=frozen, slots=slots, eq=eq, order=order)
        return _define(cls, frozen=frozen, slots=slots, eq=eq, order=order)


def _define(cls: Any, *, frozen: bool, slots: bool, eq: bool, order: bool) -> Any:
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # otherwise the standard library works out a signature for it
    if "__repr__" not in cls.__dict__:
        cls.__repr__ = _repr
    if frozen:
        cls.__setattr__, cls.__delattr__ = _refuse_assignment, _refuse_deletion
        if slots and "__getstate__" not in cls.__dict__:
            cls.__getstate__, cls.__setstate__ = _state, _restore
    own_hash, own_eq = cls.__dict__.get("__hash__"), "__eq__" in cls.__dict__
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=order, order=order, slots=slots)(cls)
    if eq:
        compared = [field for field in dataclasses.fields(made) if field.compare]
        if not own_eq:
            made.__eq__ = _equality(_values(compared))
        if own_hash is None:
            hashed = [field for field in compared if field.hash is not False]
            made.__hash__ = _hashing(_values(hashed)) if frozen else None
    made.__init__ = _uncompiled(made, frozen=frozen, slots=slots)
    return made


def _uncompiled(cls: Any, *, frozen: bool, slots: bool) -> Callable[..., None]:
    """Return an `__init__` that replaces itself when it is first called."""

    def __init__(self: object, *args: object, **kwargs: object) -> None:  # noqa: N807 - Python names it in its messages
        if cls.__dict__["__init__"] is __init__:
            cls.__init__ = _compiled(cls, frozen=frozen, slots=slots)
        cls.__init__(self, *args, **kwargs)

    return __init__


def _compiled(cls: Any, *, frozen: bool, slots: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"_missing": dataclasses.MISSING, "_set": object.__setattr__}
    positional, keywords, body = ["self"], ["*"], list[str]()
    for field in dataclasses.fields(cls):
        name = value = field.name
        default = ""
        if field.default_factory is not dataclasses.MISSING:
            names[f"_make_{name}"] = field.default_factory
            default, value = "=_missing", f"_make_{name}()"
            if field.init:
                value += f" if {name} is _missing else {name}"
        elif field.default is not dataclasses.MISSING:
            names[f"_default_{name}"] = field.default
            default = f"=_default_{name}"
            value = name if field.init else default[1:]
        if field.init:
            (keywords if field.kw_only else positional).append(name + default)
        elif not default:
            continue
        if frozen and slots:
            names[f"_set_{name}"] = getattr(cls, name).__set__
            body.append(f"_set_{name}(self, {value})")
        else:
            body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(positional + (keywords if len(keywords) > 1 else []))
    exec(f"def __init__({parameters}):\n  " + "\n  ".join(body or ["pass"]), names)  # noqa: S102 - names of fields only
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _values(fields: "list[dataclasses.Field[Any]]") -> Callable[[Any], tuple[Any, ...]]:
    """Return a function from an instance to the values of fields."""
    if len(fields) > 1:
        return attrgetter(*(field.name for field in fields))
    if not fields:
        return lambda _: ()
    value = attrgetter(fields[0].name)
    return lambda self: (value(self),)


def _equality(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], bool]:
    def __eq__(self: Any, other: Any) -> bool:  # noqa: N807
        if other.__class__ is self.__class__:
            return values(self) == values(other)
        return NotImplemented

    return __eq__


def _hashing(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    return lambda self: hash(values(self))


@recursive_repr()
def _repr(self: Any) -> str:
    values = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(values)})"


def _refuse_assignment(_self: object, name: str, _value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
