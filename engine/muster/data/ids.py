"""The identity of an object: what several files must agree on to be parts of one thing."""

from typing import NamedTuple


class ObjectId(NamedTuple):
    """Group, kind, namespace (empty for cluster-scoped kinds) and name. Versions do not distinguish objects.

    A NamedTuple and not a dataclass: ids are dictionary keys by the hundred thousand, and tuples hash and
    compare in C.
    """

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """`ManagedCluster/prod-eu-1`, `AdapterReport/prod-eu-1/validation`: how messages and commands name it."""
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)
