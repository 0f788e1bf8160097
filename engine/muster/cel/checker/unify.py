"""Unification of types: which argument fits which parameter, and which types the type variables are bound to.

The rules are those of the specification: `dyn` agrees with everything, a type variable with the first type that it
meets, null with every type that can be null, and parameterised types part by part. Refinements never decide. Objects
and maps are the same at run time (a mapping), so an object fits a map whose keys can be strings.
"""

from collections.abc import Iterator
from itertools import count
from typing import Final

from muster.cel.declarations import Overload
from muster.cel.types import (
    BOOL,
    DURATION,
    DYN,
    INT,
    NULL,
    NUMERIC,
    STRING,
    TIMESTAMP,
    UINT,
    ListType,
    MapType,
    NullableType,
    ObjectType,
    OpaqueType,
    OptionalType,
    Scalar,
    StringType,
    Type,
    TypeParam,
    TypeType,
    bare,
    is_dyn,
    parts,
    rebuild,
    wider,
)

#: The `number` of overload tables: an `int`, a `uint` or a `double`.
NUMBER: Final = OpaqueType("number")


class Substitution:
    """The type variables of one expression and the types that they are bound to."""

    def __init__(self) -> None:
        """Start without bound variables."""
        self._bound: dict[TypeParam, Type] = {}
        self._names: Iterator[int] = count()

    def fresh(self) -> TypeParam:
        """Return a new variable."""
        return TypeParam(f"%{next(self._names)}")

    def instance(self, overload: Overload) -> tuple[tuple[Type, ...], Type]:
        """Return the overload's parameters and result, with new variables in place of its own."""
        renamed: dict[TypeParam, Type] = {}
        return tuple(self._rename(param, renamed) for param in overload.params), self._rename(overload.result, renamed)

    def _rename(self, type_: Type, renamed: dict[TypeParam, Type]) -> Type:
        if isinstance(type_, TypeParam):
            return renamed.setdefault(type_, self.fresh())
        inner = parts(type_)
        return rebuild(type_, (self._rename(part, renamed) for part in inner)) if inner else type_

    def resolve(self, type_: Type) -> Type:
        """Return the type that an outermost type variable is bound to."""
        while isinstance(type_, TypeParam) and type_ in self._bound:
            type_ = self._bound[type_]
        return type_

    def close(self, type_: Type, *, open_as: Type | None = DYN) -> Type:
        """Return the type with every bound variable replaced. Unbound ones become `open_as`, or stay if it is None."""
        type_ = self.resolve(type_)
        if isinstance(type_, TypeParam):
            return type_ if open_as is None else open_as
        inner = parts(type_)
        return rebuild(type_, (self.close(part, open_as=open_as) for part in inner)) if inner else type_

    def assignable(self, expected: Type, actual: Type) -> bool:
        """Return whether `actual` fits `expected`; binds variables only if it does."""
        before = dict(self._bound)
        if self._agree(expected, actual):
            return True
        self._bound = before
        return False

    def all_assignable(self, pairs: list[tuple[Type, Type]]) -> bool:
        """Return whether every (expected, actual) fits under one binding; binds variables only if so."""
        before = dict(self._bound)
        if all(self._agree(expected, actual) for expected, actual in pairs):
            return True
        self._bound = before
        return False

    def join(self, left: Type, right: Type) -> Type:
        """Return the type of a value that has one of two types: the more general one if they agree, else `dyn`."""
        if not self.assignable(left, right):
            return DYN
        left, right = self.resolve(left), self.resolve(right)
        if NULL in (left, right):
            return right if left == NULL else left
        if isinstance(left, NullableType) or isinstance(right, NullableType):
            return left if isinstance(left, NullableType) else right
        return _merged(left, right) if self._is_general(left, right) else _merged(right, left)

    # -- the rules ----------------------------------------------------------------------------------------------

    def _agree(self, expected: Type, actual: Type) -> bool:
        if isinstance(actual, TypeParam):
            met = self._meet(actual, expected)
            if met is not None:
                return met
        if isinstance(expected, TypeParam):
            return bool(self._meet(expected, actual))
        if is_dyn(expected) or is_dyn(actual):
            return True
        if isinstance(expected, NullableType) or isinstance(actual, NullableType):
            return self._agree_nullable(expected, actual)
        if NULL in (expected, actual):
            return expected == actual or can_be_null(actual if expected == NULL else expected)
        return self._agree_shapes(expected, actual)

    def _agree_nullable(self, expected: Type, actual: Type) -> bool:
        inner = expected.element if isinstance(expected, NullableType) else expected
        other = actual.element if isinstance(actual, NullableType) else actual
        return NULL in (inner, other) or self._agree(inner, other)

    def _agree_shapes(self, expected: Type, actual: Type) -> bool:
        match expected, actual:
            case (Scalar(), Scalar()):
                return expected == actual
            case (StringType(), StringType()) | (TypeType(), TypeType()):
                return True
            case (OpaqueType(), _) if expected == NUMBER:
                return actual in NUMERIC
            case (ObjectType(), ObjectType()):
                return _objects_agree(expected, actual)
            case (MapType(), ObjectType()):
                return self._agree(expected.key, STRING) and self._agree(expected.value, values_of(actual))
            case (ObjectType(), MapType()):
                return self._agree(STRING, actual.key) and self._agree(values_of(expected), actual.value)
            case (OpaqueType(), OpaqueType()) if expected.name != actual.name:
                return False
            case _:
                inner, counterparts = parts(expected), parts(actual)
                return (
                    type(expected) is type(actual)
                    and len(inner) == len(counterparts)
                    and all(map(self._agree, inner, counterparts))
                )

    def _meet(self, variable: TypeParam, other: Type) -> bool | None:
        """Return whether the variable can be bound to `other`; None if it is unbound and `other` contains it."""
        if variable == other:
            return True
        if (bound := self._bound.get(variable)) is not None:
            if bound == other:
                return True
            if not self._agree(other, bound):
                return False
            general = _merged(other, bound) if self._is_general(other, bound) else _merged(bound, other)
            if not self._occurs(variable, general):
                self._bound[variable] = general
            return True
        if self._occurs(variable, other):
            return None
        self._bound[variable] = other
        return True

    def _occurs(self, variable: TypeParam, type_: Type) -> bool:
        type_ = self.resolve(type_)
        return type_ == variable or any(self._occurs(variable, part) for part in parts(type_))

    def _is_general(self, general: Type, special: Type) -> bool:
        """Return whether `one` is at least as general as `other`."""
        if is_dyn(general) or isinstance(general, TypeParam):
            return True
        if is_dyn(special) or isinstance(special, TypeParam):
            return False
        if type(general) is not type(special):
            return isinstance(general, NullableType)
        if isinstance(general, StringType | TypeType):
            return True
        inner, counterpart = parts(general), parts(special)
        return all(map(self._is_general, inner, counterpart)) if inner else general == special


def can_be_null(type_: Type) -> bool:
    """Return whether null fits the type without a `nullable` in a schema."""
    return type_ in (TIMESTAMP, DURATION) or isinstance(type_, ObjectType | OpaqueType | OptionalType)


def is_key(type_: Type) -> bool:
    """Return whether values of the type can be keys of a map: the specification allows four types."""
    return type_ in (BOOL, INT, UINT) or isinstance(type_, StringType | TypeParam) or is_dyn(type_)


def numbers_compare(operator: str, left: Type, right: Type) -> bool:
    """Return whether both sides are numbers, which compare by value whatever their types."""
    if operator == "@in":
        right = bare(right)
        inner = right.element if isinstance(right, ListType) else right.key if isinstance(right, MapType) else None
        return bare(left) in NUMERIC and inner is not None and bare(inner) in NUMERIC
    return bare(left) in NUMERIC and bare(right) in NUMERIC


def values_of(type_: ObjectType) -> Type:
    """Return the value type of the object as a map."""
    kinds = {field.type for field in type_.fields.values()} | ({type_.additional} if type_.additional else set())
    return kinds.pop() if len(kinds) == 1 else DYN


def _objects_agree(left: ObjectType, right: ObjectType) -> bool:
    """Return whether a value can have both types: the same fields, or other fields are allowed."""
    if left == right or left.additional is not None or right.additional is not None:
        return True
    missing = (left.fields.keys() ^ right.fields.keys()) if left.fields and right.fields else ()
    required = [name for name in missing if (left.fields.get(name) or right.fields[name]).required]
    return not required


def _merged(general: Type, special: Type) -> Type:
    """Return `one` with refinements wide enough for `other` too."""
    match general, special:
        case (StringType(), StringType()):
            values = (
                None if general.values is None or special.values is None else tuple({*general.values, *special.values})
            )
            return StringType(wider(general.max_length, special.max_length), values and tuple(sorted(values)))
        case (ListType(), ListType()):
            return ListType(_merged(general.element, special.element), wider(general.max_items, special.max_items))
        case (MapType(), MapType()):
            key, value = _merged(general.key, special.key), _merged(general.value, special.value)
            return MapType(key, value, wider(general.max_items, special.max_items))
        case _:
            return general
