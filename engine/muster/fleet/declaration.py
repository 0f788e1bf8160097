"""Declarations: which objects exist only while a file gives them a spec.

An agent's status alone does not declare a cluster, and a person's decision alone no certificate request. A
ClusterDeployment is declared by a person, or by muster for a pool; then its inputs are reports.
"""

from collections.abc import Iterable
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_DEPLOYMENT, CLUSTERS, CSR, kind_of
from muster.data.source import Part
from muster.data.tree import Tree, dig

_BY_SPEC: Final = frozenset((*CLUSTERS, CSR, CLUSTER_DEPLOYMENT))


def needs_declaration(id_: ObjectId) -> bool:
    """Does an object of this kind exist only if something declares it?"""
    return kind_of(id_) in _BY_SPEC


def declares(id_: ObjectId, body: Tree) -> bool:
    """Does this body, of a kind that needs it, declare its object?"""
    if CLUSTER_DEPLOYMENT.has(id_):
        return bool(dig(body, "spec", "clusterName"))
    return "spec" in body


def is_declared(id_: ObjectId, parts: Iterable[Part], previous: Tree) -> bool:
    """Does the object exist, by its input parts and what the last run derived?"""
    if not needs_declaration(id_):
        return True
    made = CLUSTER_DEPLOYMENT.has(id_) and declares(id_, previous)
    return made or any(declares(id_, part.body) for part in parts)
