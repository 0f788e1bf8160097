"""Clusters, claims and pools in few words, for what decides about them without a fleet."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from muster.data.kinds import CLUSTER_CLAIM, CLUSTER_DEPLOYMENT, CLUSTER_POOL
from muster.data.tree import Tree
from muster.rules.pools.model import Claim, Cluster, Pool, PoolKey
from tests.support.example import NOON

KEY = PoolKey("pools", "ci")


def cluster(name: str, age: int = 0, **fields: Any) -> Cluster:
    """An installed cluster of the pool, so many minutes older than noon."""
    made = Cluster(
        id=CLUSTER_DEPLOYMENT.id(name, name),
        body={},
        pool=KEY,
        created=NOON - timedelta(minutes=age),
        claim="",
        installed=True,
        wanted="",
        power="",
        deleting=False,
        marked=False,
        version="",
        customization="",
        power_requested=False,
        frozen=False,
        declared=True,
    )
    return replace(made, **fields)


def claim(name: str, cluster: str = "", age: int = 0, **fields: Any) -> Claim:
    """A claim on the pool, so many minutes older than noon."""
    id_ = CLUSTER_CLAIM.id(name, "pools")
    return replace(Claim(id_, {}, KEY, NOON - timedelta(minutes=age), cluster, False, False), **fields)


def pool(**spec: Tree) -> Pool:
    """The pool."""
    return Pool.of(CLUSTER_POOL.id("ci", "pools"), {"spec": spec}, deleting=False)
