"""The kinds that muster knows, as `kubectl api-resources` lists those of a cluster."""

import sys
from collections.abc import Iterator

from muster.cli.documents import json_text
from muster.cli.table import Heading, print_table
from muster.data.kinds import ALL, CLUSTER_PROFILE, PLACEMENT_DECISION, SIG_PLACEMENT_DECISION, Kind, short_names
from muster.fleet.derived_parts import derived_kinds
from muster.fleet.report_parts import REPORTS

#: What only muster writes.
_OUTPUTS = (PLACEMENT_DECISION, SIG_PLACEMENT_DECISION, CLUSTER_PROFILE)
_HEADINGS = (
    Heading("NAME"),
    Heading("SHORTNAMES", rank=3),
    Heading("APIVERSION", rank=1),
    Heading("NAMESPACED", rank=4),
    Heading("KIND"),
    Heading("WRITTEN BY", rank=2),
)


def writers(kind: Kind) -> Iterator[str]:
    """Yield who writes objects of a kind, or parts of them."""
    if kind not in REPORTS and kind not in _OUTPUTS:
        yield "people"
    if kind.reported or kind in REPORTS:
        yield "agents"
    if kind.label in derived_kinds():
        yield "muster"


def print_resources(form: str) -> None:
    """Print the kinds as a `table`, as `name`s or as `json`."""
    kinds = sorted(ALL, key=lambda kind: (kind.group, kind.name))
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
                ]
                for kind in kinds
            ],
        )
