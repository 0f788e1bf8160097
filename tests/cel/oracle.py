"""cel-cpp, through cel-expr-python, as the reference for CEL."""

import ctypes
from collections.abc import Mapping
from typing import Any, Final

import pytest

from muster.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    NULL,
    TIMESTAMP,
    UINT,
    ListType,
    MapType,
    StringType,
    Type,
    TypeType,
)
from tests.cel.comparing import ERROR

#: Not built for every platform and version of Python: without it, what imports this module is skipped.
cel = pytest.importorskip("cel_expr_python.cel")

_SCALARS: Final[Mapping[Type, Any]] = {
    BOOL: cel.Type.BOOL,
    BYTES: cel.Type.BYTES,
    DOUBLE: cel.Type.DOUBLE,
    DURATION: cel.Type.DURATION,
    INT: cel.Type.INT,
    NULL: cel.Type.NULL,
    TIMESTAMP: cel.Type.TIMESTAMP,
    UINT: cel.Type.UINT,
}


def declared(type_: Type) -> Any:
    """Return the oracle's type. It has none for plain mappings with known fields: those are `dyn` to it."""
    match type_:
        case StringType():
            return cel.Type.STRING
        case ListType():
            return cel.Type.List(declared(type_.element))
        case MapType():
            return cel.Type.Map(declared(type_.key), declared(type_.value))
        case TypeType():
            return cel.Type.TYPE
        case _:
            return _SCALARS.get(type_, cel.Type.DYN)


_keep = ctypes.pythonapi.Py_IncRef
_keep.argtypes = [ctypes.py_object]


def _repaid(value: Any) -> Any:
    """Return the value after giving back the references to None that cel-expr-python 0.1.3 drops for each null in
    it: without this, a few thousand evaluations end the process."""
    if value is None:
        _keep(None)
    elif isinstance(value, list):
        for item in value:
            _repaid(item)
    elif isinstance(value, dict):
        for item in value.values():
            _repaid(item)
    return value


class Oracle:
    """An environment of the oracle with some variables declared. The rest is found when it is evaluated."""

    def __init__(self, variables: Mapping[str, Type]) -> None:
        self._env = cel.NewEnv(variables={name: declared(type_) for name, type_ in variables.items()})

    def type_of(self, text: str) -> str | None:
        """Return the type that the oracle deduces, in its own notation; None if it refuses the expression."""
        try:
            return str(self._env.compile(text).return_type())
        except Exception:  # noqa: BLE001 - the binding raises exceptions of several classes
            return None

    def value_of(self, text: str, data: Mapping[str, Any]) -> Any:
        """Return the value, or ERROR if the oracle refuses the expression or its evaluation fails."""
        try:
            value = self._env.compile(text, disable_check=True).eval(data=data)
        except Exception:  # noqa: BLE001
            return ERROR
        return ERROR if str(value.type()) == "ERROR" else _repaid(value.plain_value())
