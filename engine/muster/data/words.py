"""The words by which people name kinds: `ManagedCluster`, `managedclusters`, `clusters`, `mcl`."""

from collections.abc import Mapping

from muster.data.kinds import ALL, Kind
from muster.data.names import did_you_mean


class UnknownKind(ValueError):  # noqa: N818 - says what the person typed
    """No kind of that name."""


#: Words that mean one kind, or several: those that muster has of its own, and those by which kubectl knows the kinds.
_SHORT: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("cluster", "clusters"), ("ManagedCluster", "Cluster")),
    **dict.fromkeys(("pool", "pools", "cp"), ("ClusterPool",)),
    **dict.fromkeys(("claim", "claims"), ("ClusterClaim",)),
    **dict.fromkeys(("report", "reports"), ("AdapterReport",)),
    **dict.fromkeys(("csr", "csrs"), ("CertificateSigningRequest",)),
    **dict.fromkeys(("mcl", "mcls"), ("ManagedCluster",)),
    **dict.fromkeys(("set", "sets", "clusterset", "clustersets", "mclset", "mclsets"), ("ManagedClusterSet",)),
    **dict.fromkeys(("mclsetbinding", "mclsetbindings"), ("ManagedClusterSetBinding",)),
    **dict.fromkeys(("mca", "mcas"), ("ManagedClusterAddOn",)),
    **dict.fromkeys(("budget", "budgets"), ("DisruptionBudget",)),
    "cd": ("ClusterDeployment",),
    "cdc": ("ClusterDeploymentCustomization",),
    "imgset": ("ClusterImageSet",),
    "mcing": ("MultiClusterIngress",),
    "rb": ("ResourceBinding",),
}


def words() -> list[str]:
    """Return the words that mean kinds, as people would type them: plurals, and what is shorter; sorted."""
    return sorted({*(kind.plural for kind in ALL), "policies", *_SHORT})


def kinds_named(text: str) -> tuple[Kind, ...]:
    """Return the kinds that a word means: a kind's name or plural in any case; `clusters` means both
    sorts, `policies` every kind of policy, `reports` those of adapters, `pools` and `claims` Hive's; `csr` and such.

    Raises UnknownKind with the nearest name.
    """
    word = text.casefold()
    found = tuple(kind for kind in ALL if word in (kind.name.casefold(), kind.plural, f"{kind.plural}.{kind.group}"))
    if word in ("policy", "policies"):
        found = tuple(kind for kind in ALL if kind.name.endswith("Policy"))
    elif names := _SHORT.get(word):
        found = tuple(kind for kind in ALL if kind.name in names)
    if not found:
        known = {*words(), *(kind.name.casefold() for kind in ALL)}
        hint = did_you_mean(word, known) or "an object is named by its kind, too, as in cluster/NAME"
        raise UnknownKind(f"no kind is called {text!r}. {hint}".strip())
    return found
