"""A table of clusters: CSV that people keep, or what a cloud's own command lists as JSON.

Sources of the listings: `eksctl get cluster --output json` (`Name`, `Region`), `gcloud container clusters list
--format json` (`name`, `location`, `selfLink`), and `az aks list --output json` (`name`, `location`, `id`). Tags of the
cloud do not become labels: labels decide what runs on a cluster.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from muster.data.agentref import is_cluster_name
from muster.data.names import MAX_LABEL, is_short_label, is_subdomain
from muster.data.printable import printable
from muster.data.tree import Tree
from muster.dataclass import dataclass

#: The column with the names, and the one with kubectl's contexts; all others are labels.
CLUSTER: Final = "cluster"
CONTEXT: Final = "context"
_MOST_BYTES: Final = 16 << 20
_MOST_PROBLEMS: Final = 20


class TableError(ValueError):
    """A table cannot be used; the message has a line for each problem."""


@dataclass(frozen=True, slots=True)
class JoiningCluster:
    """A cluster of a table: its name, the context of kubectl (empty if unknown), its labels, and the row's line."""

    cluster: str
    context: str
    labels: Mapping[str, str]
    line: int


def read_table(data: bytes, name: str) -> list[JoiningCluster]:
    """Return the rows of a table: CSV, or the JSON of a cloud. TableError if it is neither; see `checked`."""
    if len(data) > _MOST_BYTES:
        raise TableError(f"{name}: larger than {_MOST_BYTES >> 20} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError(f"{name}: not UTF-8") from error
    return list(_listed(text, name) if text.lstrip()[:1] in ("[", "{") else _rows(text, name))


def checked(rows: Sequence[JoiningCluster], name: str) -> list[JoiningCluster]:
    """Return the rows if all of them can be clusters. TableError with what is wrong, and in which lines."""
    problems, lines = list[str](), dict[str, int]()
    for row in rows:
        at = f"{name}:{row.line}"
        if not is_cluster_name(row.cluster):
            hint = "use lower case letters, digits and '-'"
            problems.append(f"{at}: {printable(row.cluster)!r} is not a valid name of a cluster: {hint}")
        elif row.cluster in lines:
            problems.append(f"{at}: {row.cluster} is in line {lines[row.cluster]}, too: give one of them another name")
        lines.setdefault(row.cluster, row.line)
        problems += [
            f"{at}: {printable(key)}={printable(value)} is not a valid label"
            for key, value in row.labels.items()
            if not is_label_of_kubernetes(key, value)
        ]
    if problems:
        more = [f"and {len(problems) - _MOST_PROBLEMS} more"] if len(problems) > _MOST_PROBLEMS else []
        raise TableError("\n".join([*problems[:_MOST_PROBLEMS], *more]))
    return list(rows)


def is_label_of_kubernetes(key: str, value: str) -> bool:
    """Can Kubernetes have the label? A key is `[PREFIX/]NAME`."""
    prefix, slash, name = key.rpartition("/")
    return (is_subdomain(prefix) if slash else True) and name != "" and _is_word(name) and _is_word(value)


def _is_word(text: str) -> bool:
    """Is it empty, or letters, digits and inner `-`, `_` and `.`, at most 63?"""
    plain = text.replace("_", "-").replace(".", "-").lower()
    return text == "" or (len(text) <= MAX_LABEL and text.isascii() and is_short_label(plain))


def csv_text(rows: Sequence[JoiningCluster]) -> str:
    """Return rows as a table that a terminal can show."""
    keys = sorted({key for row in rows for key in row.labels})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((CLUSTER, CONTEXT, *map(printable, keys)))
    for row in rows:
        writer.writerow(map(printable, (row.cluster, row.context, *(row.labels.get(key, "") for key in keys))))
    return out.getvalue()


def _rows(text: str, name: str) -> Iterator[JoiningCluster]:
    head = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text), delimiter=";" if ";" in head and "," not in head else ",", strict=True)
    try:
        header = [cell.strip() for cell in next(reader, [])]
        if CLUSTER not in header:
            raise TableError(f"{name}:1: no column {CLUSTER!r}: the first line names the columns")
        if len({*header}) < len(header) or "" in header:
            raise TableError(f"{name}:1: each column needs a name of its own")
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                raise TableError(f"{name}:{reader.line_num}: {len(cells)} cells, and {len(header)} columns")
            row = {key: cell.strip() for key, cell in zip(header, cells, strict=True)}
            labels = {key: cell for key, cell in row.items() if key not in (CLUSTER, CONTEXT) and cell}
            yield JoiningCluster(row[CLUSTER], row.get(CONTEXT, ""), labels, reader.line_num)
    except csv.Error as error:
        raise TableError(f"{name}:{reader.line_num}: {error}") from error


def _listed(text: str, name: str) -> Iterator[JoiningCluster]:
    try:
        items = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TableError(f"{name}: not JSON: {error}") from error
    items = items if isinstance(items, list) else [items]
    for number, item in enumerate(items, 1):
        row = _of_cloud(item, number) if isinstance(item, dict) else None
        if row is None:
            listings = "eksctl get cluster, gcloud container clusters list, az aks list"
            raise TableError(f"{name}: item {number} is of none of these listings: {listings}")
        yield row


def _of_cloud(item: Mapping[str, Tree], number: int) -> JoiningCluster | None:
    """A cluster in a listing; None for another shape. Its context is the one that the cloud's command writes."""
    if isinstance(item.get("Name"), str) and isinstance(item.get("Region"), str):
        return JoiningCluster(item["Name"], "", {"cloud": "eks", "region": item["Region"]}, number)
    name, location = item.get("name"), item.get("location")
    if not isinstance(name, str) or not isinstance(location, str):
        return None
    if str(item.get("id", "")).lower().startswith("/subscriptions/"):
        return JoiningCluster(name, name, {"cloud": "aks", "region": location}, number)
    _, projects, rest = str(item.get("selfLink", "")).partition("/projects/")
    project = rest.partition("/")[0]
    context = f"gke_{project}_{location}_{name}" if projects else ""
    return JoiningCluster(name, context, {"cloud": "gke", "region": location}, number)
