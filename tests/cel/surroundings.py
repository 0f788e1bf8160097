"""A small world for expressions in tests: a cluster, its lease, its conditions."""

from collections.abc import Mapping

from muster.cel.env import Declared
from muster.cel.library.registry import Declarations
from muster.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Field,
    ListType,
    MapType,
    NullableType,
    ObjectType,
    OptionalType,
    StringType,
    Type,
)

STATUS = StringType(values=("True", "False", "Unknown"))
CONDITION = ObjectType(
    "condition",
    {
        "type": Field(StringType(316), required=True),
        "status": Field(STATUS, required=True),
        "reason": Field(StringType(1024)),
        "lastTransitionTime": Field(TIMESTAMP),
    },
)
TAINT = ObjectType("taint", {"key": Field(StringType(316)), "effect": Field(STRING)}, additional=DYN)
CLUSTER = ObjectType(
    "self",
    {
        "metadata": Field(
            ObjectType(
                "self.metadata",
                {"name": Field(StringType(253), required=True), "labels": Field(MapType(STRING, StringType(63), 64))},
            )
        ),
        "spec": Field(
            ObjectType(
                "self.spec",
                {
                    "hubAcceptsClient": Field(BOOL),
                    "leaseDurationSeconds": Field(INT),
                    "taints": Field(ListType(TAINT, 50)),
                    "paused": Field(NullableType(BOOL)),
                },
            )
        ),
        "status": Field(ObjectType("self.status", {"conditions": Field(ListType(CONDITION, 100)), "free": Field(DYN)})),
    },
)
LEASE = ObjectType("lease", {"spec": Field(ObjectType("lease.spec", {"renewTime": Field(NullableType(TIMESTAMP))}))})

VARIABLES: Mapping[str, Type] = {
    "self": CLUSTER, "lease": LEASE, "conditions": MapType(STRING, CONDITION), "now": TIMESTAMP,
    "i": INT, "u": UINT, "f": DOUBLE, "b": BOOL, "s": STRING, "y": BYTES, "d": DURATION, "x": DYN,
    "ints": ListType(INT, 20), "strings": ListType(STRING), "labels": MapType(STRING, STRING),
    "maybe": OptionalType(INT), "anything": MapType(STRING, DYN), "status": STATUS,
}  # fmt: skip


SURROUNDINGS = Declared(VARIABLES, Declarations(), "", {"conditions": ("Ready", "Available")}, None)
"""The declarations that `check` asks for."""
