"""An environment for expressions in tests: a cluster, its lease, its conditions."""

from collections.abc import Mapping

from muster.cel.env import CheckEnv
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
    FieldType,
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
        "type": FieldType(StringType(316), required=True),
        "status": FieldType(STATUS, required=True),
        "reason": FieldType(StringType(1024)),
        "lastTransitionTime": FieldType(TIMESTAMP),
    },
)
TAINT = ObjectType("taint", {"key": FieldType(StringType(316)), "effect": FieldType(STRING)}, additional=DYN)
CLUSTER = ObjectType(
    "self",
    {
        "metadata": FieldType(
            ObjectType(
                "self.metadata",
                {
                    "name": FieldType(StringType(253), required=True),
                    "labels": FieldType(MapType(STRING, StringType(63), 64)),
                },
            )
        ),
        "spec": FieldType(
            ObjectType(
                "self.spec",
                {
                    "hubAcceptsClient": FieldType(BOOL),
                    "leaseDurationSeconds": FieldType(INT),
                    "taints": FieldType(ListType(TAINT, 50)),
                    "paused": FieldType(NullableType(BOOL)),
                },
            )
        ),
        "status": FieldType(
            ObjectType("self.status", {"conditions": FieldType(ListType(CONDITION, 100)), "free": FieldType(DYN)})
        ),
    },
)
LEASE = ObjectType(
    "lease", {"spec": FieldType(ObjectType("lease.spec", {"renewTime": FieldType(NullableType(TIMESTAMP))}))}
)

VARIABLES: Mapping[str, Type] = {
    "self": CLUSTER,
    "lease": LEASE,
    "conditions": MapType(STRING, CONDITION),
    "now": TIMESTAMP,
    "i": INT,
    "u": UINT,
    "f": DOUBLE,
    "b": BOOL,
    "s": STRING,
    "y": BYTES,
    "d": DURATION,
    "x": DYN,
    "ints": ListType(INT, 20),
    "strings": ListType(STRING),
    "labels": MapType(STRING, STRING),
    "maybe": OptionalType(INT),
    "anything": MapType(STRING, DYN),
    "status": STATUS,
}


ENVIRONMENT = CheckEnv(VARIABLES, Declarations(), "", {"conditions": ("Ready", "Available")}, None)
"""The declarations that `check` asks for."""
