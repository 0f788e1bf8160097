"""Objects as `kubectl get` prints them: tables, names, documents, or through a template."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime

import click

from muster.cli.columns import rows
from muster.cli.documents import json_text, list_document, yaml_stream
from muster.cli.select import select
from muster.cli.table import GrowingTable, Heading, print_table
from muster.data.jsonpath.template import Template
from muster.data.jsonpath.values import filled, template_values
from muster.data.kinds import BY_NAME, PLACEMENT, PLACEMENT_DECISION
from muster.data.tree import Tree, dig, mapping_at
from muster.dataclass import dataclass
from muster.run.run import Run
from muster.run.transitions.placement_moves import chosen


def held_lines(held: Iterable[Tree], bodies: Iterable[Tree]) -> Iterator[str]:
    """Yield `3 effects are held: <reason>` for each reason that concerns any of these objects, sorted."""
    shown = {(body["kind"], dig(body, "metadata", "namespace") or "", body["metadata"]["name"]) for body in bodies}
    counts: dict[str, int] = {}
    for entry in held:
        if (entry["kind"], entry["namespace"], entry["name"]) in shown:
            counts[entry["reason"]] = counts.get(entry["reason"], 0) + 1
    for reason, count in sorted(counts.items()):
        yield f"{count} effect{' is' if count == 1 else 's are'} held: {reason}"


@dataclass(frozen=True, slots=True)
class ListingFormat:
    """An output format: `table`, `wide`, `name`, `yaml`, `json`, a `template`, or `columns` by header.

    `single`: the user named one object, so a template and JSON get that object and not a List. `order`: the field by
    which objects are sorted. `labels`: show them as a column. `label_columns`: labels with a column of their own.
    `headers`: tables have headings.
    """

    form: str
    template: Template | None = None
    single: bool = False
    columns: Mapping[str, Template] = field(default_factory=dict)
    order: Template | None = None
    labels: bool = False
    label_columns: Sequence[str] = ()
    headers: bool = True
    #: The clusters of Placements, by namespace and name: a column of wide tables.
    chosen: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)

    @property
    def is_table(self) -> bool:
        """Is it a table, for people?"""
        return self.template is None and self.form in ("table", "wide", "columns")

    def print(self, objects: Sequence[Tree], now: datetime) -> None:
        """Print objects as of an instant. BadTemplate if the template does not fit them, click.UsageError if none has
        the field by which they are sorted."""
        if (order := self.order) is not None:
            keys = [filled(order, body) for body in objects]
            if objects and not any(keys):
                raise click.UsageError(f"--sort-by: none of these objects has the field {order.text.strip('{}')}")
            ordered = sorted(range(len(keys)), key=lambda number: _sort_key(keys[number]))
            objects = [objects[number] for number in ordered]
        if self.template is not None or self.form == "json":
            tree = objects[0] if self.single and len(objects) == 1 else list_document(objects)
            if self.template is not None and self.form == "jsonpath":
                sys.stdout.write(filled(self.template, tree))
            else:
                sys.stdout.write(json_text(tree if self.template is None else template_values(self.template, tree)))
        elif self.form == "yaml":
            sys.stdout.write(yaml_stream(objects))
        elif self.form == "name":
            sys.stdout.writelines(f"{name_of(body)}\n" for body in objects)
        else:
            self._print_tables(objects, now)

    def print_one(self, body: Tree, now: datetime) -> None:
        """Print one object outside a table."""
        if self.form == "json" and self.template is None:
            sys.stdout.write(json_text(body))
        elif self.form == "yaml" and self.template is None:
            sys.stdout.write("---\n" + yaml_stream([body]))
        else:
            replace(self, single=True, order=None).print([body], now)

    def _print_tables(self, objects: Sequence[Tree], now: datetime) -> None:
        """A table for each kind, clusters first; one table where the user named its columns."""
        if self.columns:
            cells = [[filled(path, body) or "<none>" for path in self.columns.values()] for body in objects]
            print_table([*self.columns], cells, wide=True, headers=self.headers)
            return
        for index, (kind, bodies) in enumerate(by_kind(objects).items()):
            if index and self.headers:
                sys.stdout.write("\n")
            print_table(*self.table(kind, bodies, now), wide=self.form == "wide", headers=self.headers)

    def table(self, kind: str, bodies: list[Tree], now: datetime) -> tuple[list[Heading], list[list[str]]]:
        """Return headings and rows for objects of one kind."""
        wide = self.form == "wide"
        headings, cells = rows(kind, bodies, now, namespaced=BY_NAME[kind].namespaced, wide=wide)
        if self.chosen and kind == PLACEMENT.name:
            headings = [*headings, Heading("CLUSTERS")]
            names = (
                self.chosen.get((dig(body, "metadata", "namespace"), dig(body, "metadata", "name"))) for body in bodies
            )
            cells = [
                [*row, ", ".join(chosen_names or ()) or "-"] for row, chosen_names in zip(cells, names, strict=True)
            ]
        for label in self.label_columns:
            headings = [*headings, Heading(label.rpartition("/")[2].upper())]
            cells = [
                [*row, str(mapping_at(body, "metadata", "labels").get(label, ""))]
                for row, body in zip(cells, bodies, strict=True)
            ]
        if self.labels:
            headings = [*headings, Heading("LABELS")]
            cells = [[*row, _labels(body)] for row, body in zip(cells, bodies, strict=True)]
        return headings, cells


class ChangeListing:
    """Objects as `kubectl get -w` prints them: first all, then those that changed, were added or deleted. With `events`
    it says which."""

    def __init__(self, listing: ListingFormat, *, events: bool = False) -> None:
        self._listing, self._events = listing, events
        self._known: dict[str, Tree] = {}
        self.started = False
        self._table: GrowingTable | None = None
        self._kind = ""

    def print(self, objects: Sequence[Tree], now: datetime) -> None:
        """Print the objects that differ from those of the last call."""
        self.started = True
        current = {name_of(body): body for body in objects}
        events = [
            ("MODIFIED" if name in self._known else "ADDED", body)
            for name, body in current.items()
            if self._known.get(name) != body
        ]
        events += [("DELETED", body) for name, body in self._known.items() if name not in current]
        self._known = current
        if not self._listing.is_table:
            for _, body in events:
                self._listing.print_one(body, now)
        else:
            for kind in by_kind([body for _, body in events]):
                self._print_rows(kind, [(event, body) for event, body in events if body["kind"] == kind], now)
        sys.stdout.flush()

    def _print_rows(self, kind: str, events: Sequence[tuple[str, Tree]], now: datetime) -> None:
        headings, cells = self._listing.table(kind, [body for _, body in events], now)
        if self._events:
            headings = [Heading("EVENT"), *headings]
            cells = [[event, *row] for (event, _), row in zip(events, cells, strict=True)]
        if self._table is None or self._kind != kind or self._table.headings != headings:
            sys.stdout.write("\n" if self._table is not None and self._listing.headers else "")
            wide = self._listing.form == "wide"
            self._table, self._kind = GrowingTable(headings, wide=wide, headers=self._listing.headers), kind
        self._table.print(cells)


def _labels(body: Tree) -> str:
    return (
        ",".join(f"{name}={value}" for name, value in sorted(mapping_at(body, "metadata", "labels").items()))
        or "<none>"
    )


def _sort_key(text: str) -> tuple[bool, float, str]:
    """Numbers in their order, before other texts."""
    try:
        return False, float(text), ""
    except ValueError:
        return True, 0.0, text


def chosen_clusters(run: Run) -> Mapping[tuple[str, str], Sequence[str]]:
    """Return the clusters of each Placement, sorted, by its namespace and name."""
    shards = select(run, f"{PLACEMENT_DECISION.plural}.{PLACEMENT_DECISION.group}")
    by_placement = chosen(
        (PLACEMENT_DECISION.id(body["metadata"]["name"], body["metadata"]["namespace"]), body) for body in shards
    )
    return {(id_.namespace, id_.name): sorted(names) for id_, names in by_placement.items()}


def by_kind(objects: Sequence[Tree]) -> Mapping[str, list[Tree]]:
    """Objects by kind, clusters first."""
    kinds = sorted({body["kind"] for body in objects}, key=lambda kind: (kind != "ManagedCluster", kind))
    return {kind: [body for body in objects if body["kind"] == kind] for kind in kinds}


def name_of(body: Tree) -> str:
    """`managedcluster.cluster.open-cluster-management.io/prod-eu-1`, as kubectl names it, but with the namespace if it
    has one; every verb accepts it."""
    metadata, group = body["metadata"], body["apiVersion"].rpartition("/")[0]
    kind = ".".join(filter(None, (body["kind"].casefold(), group)))
    return "/".join(filter(None, (kind, metadata.get("namespace"), metadata["name"])))
