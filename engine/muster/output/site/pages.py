"""The files of a site: what shows it, and what it shows.

A page from a disk may read no file but those that its own tags name, so data lies in scripts, one call each. Clusters'
details are cut into files that are read when somebody looks. Texts of anybody's are data throughout: the page builds
elements and sets their text, and its policy lets nothing run that is not one of these files.
"""

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from itertools import islice

from muster.engine.run import Run
from muster.model.tree import Tree
from muster.output.site.details import cluster_details, placement_details
from muster.output.site.overview import overview

ASSETS = ("index.html", "site.css", "site.js", "table.js")
#: Clusters whose details lie in one file.
_IN_A_FILE = 50


def site_files(run: Run, title: str, links: Tree, history: Mapping[str, Tree]) -> Iterator[tuple[str, bytes]]:
    """Yield the path and content of each file of the site of a fleet.

    `links`: how files and commits are linked to, as templates with `{commit}`, `{path}`; None for not at all.
    `history`: the latest commits that changed what is derived of each cluster.
    """
    for name in ASSETS:
        yield name, (files(__package__) / "assets" / name).read_bytes()
    where: dict[str, int] = {}
    for number, some in enumerate(_batches(run)):
        where.update(dict.fromkeys(dict(some), number))
        details = {name: {"objects": objects, "history": history.get(name, [])} for name, objects in some}
        yield f"data/clusters/{number}.js", _call("details", details)
    yield "data/placements.js", _call("placements", list(placement_details(run)))
    yield "data/fleet.js", _call("fleet", {**overview(run, title), "details": where, "links": links})


def _batches(run: Run) -> Iterator[list[tuple[str, Tree]]]:
    left = cluster_details(run)
    while some := list(islice(left, _IN_A_FILE)):
        yield some


def _call(name: str, value: Tree) -> bytes:
    """A script that hands a value over; whatever is in it, it ends no tag and begins none."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return f"muster.put({json.dumps(name)},{text.replace('<', chr(92) + 'u003c')});\n".encode()
