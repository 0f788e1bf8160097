"""The identity of an object: what parts of it in several files have in common."""

from typing import NamedTuple


class ObjectId(NamedTuple):
    """Group, kind, namespace (empty for cluster-scoped kinds) and name. Versions do not distinguish objects.

    A NamedTuple and not a dataclass: there are hundreds of thousands of ids as dictionary keys, and tuples hash and
    compare in C.
    """

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """`ManagedCluster/prod-eu-1`, `AdapterReport/prod-eu-1/validation`: how messages and commands name it."""
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)
