"""The kinds that muster knows, as `kubectl api-resources` lists those of a cluster."""

import sys
from collections.abc import Iterator
from typing import Final

from muster.cli.documents import json_text
from muster.cli.table import Heading, print_table
from muster.data.kinds import (
    ADAPTER_REPORT,
    ALL,
    CLUSTER_PROFILE,
    ENDPOINT_SLICE,
    NODE_POOL,
    PLACEMENT_DECISION,
    PULSE_POLICY,
    SIG_PLACEMENT_DECISION,
    Kind,
    short_names,
)
from muster.fleet.derived_parts import derived_kinds
from muster.fleet.report_parts import REPORTS

#: What only muster writes.
_OUTPUTS = (PLACEMENT_DECISION, SIG_PLACEMENT_DECISION, CLUSTER_PROFILE)
#: The systems whose kinds muster has, in the order of the listing; `core` are those that every fleet may use.
SYSTEMS: Final = ("core", "OCM", "Karmada", "Hive", "HyperFleet")
_BY_KIND: Final = {**dict.fromkeys((ADAPTER_REPORT, NODE_POOL, PULSE_POLICY), "HyperFleet"), ENDPOINT_SLICE: "Karmada"}
_BY_DOMAIN: Final = {
    "open-cluster-management.io": "OCM",
    "multicluster.x-k8s.io": "OCM",
    "karmada.io": "Karmada",
    "hive.openshift.io": "Hive",
}
_HEADINGS = (
    Heading("NAME"),
    Heading("SHORTNAMES", rank=3),
    Heading("APIVERSION", rank=1),
    Heading("NAMESPACED", rank=4),
    Heading("KIND"),
    Heading("WRITTEN BY", rank=2),
    Heading("SYSTEM", rank=5),
)


def system_of(kind: Kind) -> str:
    """Return the system that a kind comes from, one of SYSTEMS."""
    domains = (system for domain, system in _BY_DOMAIN.items() if f".{kind.group}".endswith(f".{domain}"))
    return _BY_KIND.get(kind) or next(domains, "core")


def writers(kind: Kind) -> Iterator[str]:
    """Yield who writes objects of a kind, or parts of them."""
    if kind not in REPORTS and kind not in _OUTPUTS:
        yield "people"
    if kind.reported or kind in REPORTS:
        yield "agents"
    if kind.label in derived_kinds():
        yield "muster"


def print_resources(form: str) -> None:
    """Print the kinds as a `table`, as `name`s or as `json`, system by system."""
    kinds = sorted(ALL, key=lambda kind: (SYSTEMS.index(system_of(kind)), kind.group, kind.name))
    if form == "name":
        sys.stdout.writelines(f"{kind.plural}.{kind.group}\n" for kind in kinds)
    elif form == "json":
        sys.stdout.write(
            json_text(
                [
                    {
                        "name": kind.plural,
                        "shortNames": short_names(kind),
                        "apiVersion": kind.api_version,
                        "namespaced": kind.namespaced,
                        "kind": kind.name,
                        "writtenBy": [*writers(kind)],
                        "system": system_of(kind),
                    }
                    for kind in kinds
                ]
            )
        )
    else:
        print_table(
            _HEADINGS,
            [
                [
                    kind.plural,
                    ",".join(short_names(kind)),
                    kind.api_version,
                    str(kind.namespaced).lower(),
                    kind.name,
                    ", ".join(writers(kind)),
                    system_of(kind),
                ]
                for kind in kinds
            ],
        )
