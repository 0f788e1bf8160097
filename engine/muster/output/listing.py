"""Objects as `kubectl get` prints them: tables, names, documents, or what a template says of them."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from muster.model.kinds import BY_NAME
from muster.model.tree import Tree
from muster.output.columns import rows
from muster.output.documents import json_text, yaml_stream
from muster.output.jsonpath.template import Template
from muster.output.jsonpath.values import filled
from muster.output.table import print_table


@dataclass(frozen=True, slots=True)
class Listing:
    """In which form: `table`, `wide`, `name`, `yaml`, `json`, or what `template` says. `single`: whoever asks named one
    object, which a template is given as it is, and not in a List."""

    form: str
    template: Template | None = None
    single: bool = False

    @property
    def is_table(self) -> bool:
        """Whether it is for people."""
        return self.template is None and self.form in ("table", "wide")

    def print(self, objects: Sequence[Tree], now: datetime) -> None:
        """Print objects as of an instant. BadTemplate where the template asks of them what they cannot give."""
        if self.template is not None:
            single = self.single and len(objects) == 1
            sys.stdout.write(filled(self.template, objects[0] if single else _list(objects)))
        elif self.form == "json":
            sys.stdout.write(json_text(objects))
        elif self.form == "yaml":
            sys.stdout.write(yaml_stream(objects))
        elif self.form == "name":
            sys.stdout.writelines(f"{name_of(body)}\n" for body in objects)
        else:
            self._print_tables(objects, now)

    def _print_tables(self, objects: Sequence[Tree], now: datetime) -> None:
        """A table for each kind, clusters first."""
        for index, (kind, bodies) in enumerate(by_kind(objects).items()):
            if index:
                sys.stdout.write("\n")
            print_table(*rows(kind, bodies, now, namespaced=BY_NAME[kind].namespaced), wide=self.form == "wide")


def by_kind(objects: Sequence[Tree]) -> Mapping[str, list[Tree]]:
    """Objects by kind, clusters first."""
    kinds = sorted({body["kind"] for body in objects}, key=lambda kind: (kind != "ManagedCluster", kind))
    return {kind: [body for body in objects if body["kind"] == kind] for kind in kinds}


def name_of(body: Tree) -> str:
    """`managedcluster/prod-eu-1`, which every verb takes; with its namespace where it has one."""
    metadata = body["metadata"]
    return "/".join(filter(None, (body["kind"].casefold(), metadata.get("namespace"), metadata["name"])))


def _list(objects: Sequence[Tree]) -> Tree:
    """Several objects as one, as kubectl has them."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(objects)}
