"""The decision tree of each field of a cluster, as `muster explain` has it: the page folds it under the field.

Recording how expressions were evaluated costs more than the run itself, so in a run of the whole fleet it is done for a
limited number of clusters. A server that evaluates the clusters somebody looks at records all of them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from muster.cel.trace import TracePart
from muster.data.ids import ObjectId
from muster.data.kinds import is_cluster
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.features.explain.explain import NothingDecided, explain
from muster.rules.policies.lazy import Evaluation, Witness
from muster.run.explained import Explained
from muster.run.run import Run

#: How many clusters of a whole fleet have decision trees.
MOST: Final = 200


def witness(most: int | None = None) -> Witness:
    """Return a witness of the evaluations about clusters: of all, or of the first ones that are evaluated."""
    ids = set[ObjectId]()

    def about(id_: ObjectId) -> bool:
        if id_ in ids or not is_cluster(id_) or (most is not None and len(ids) >= most):
            return id_ in ids
        ids.add(id_)
        return True

    return Witness(about)


def trees_of(run: Run, neighbourhoods: Mapping[str, Collection[ObjectId]]) -> Callable[[ObjectId], dict[str, Tree]]:
    """Return a function that gives the trees of a cluster by the names of its fields; none without a witness.
    `neighbourhoods`: the objects of each cluster by its name."""
    seen: dict[ObjectId, list[Evaluation]] = {}
    recorded = run.fleet.witness
    for one in recorded.seen if recorded else ():
        seen.setdefault(one.object, []).append(one)

    names = {id_.name for id_ in seen}
    others = {id_ for name, ids in neighbourhoods.items() if name not in names for id_ in ids}
    # An explanation looks through all leases, reports and files.
    objects = {id_: obj for id_, obj in run.fleet.objects.items() if id_ not in others}
    read = replace(run.fleet.read, parts=[part for part in run.fleet.read.parts if part.id not in others])
    explained = replace(run, fleet=replace(run.fleet, objects=objects, read=read))

    def trees(id_: ObjectId) -> dict[str, Tree]:
        if recorded is None or id_ not in seen:
            return {}
        try:
            explanation = explain(explained, Witness(recorded.about, seen[id_]), id_)
        except NothingDecided:
            return {}
        return {field.label: _tree(field) for field in explanation.fields}

    return trees


def _tree(field: Explained) -> Tree:
    """The rule's place; the expressions that were evaluated, and the parts of those that decided; deadlines; inputs."""
    return {
        "place": str(field.place) if field.place else "",
        "asked": [
            {
                "title": rule.title,
                "gave": rule.gave,
                "text": rule.trace.text if rule.decides else "",
                "parts": _parts(rule.trace.parts) if rule.decides else [],
            }
            for rule in field.asked
        ],
        "deadlines": [
            {"at": format_time(deadline.at), "terms": [[term.sign, term.shown] for term in deadline.terms]}
            for deadline in field.deadlines
        ],
        "reads": [[read.label, read.value, str(read.place) if read.place else ""] for read in field.reads],
    }


def _parts(parts: Iterable[TracePart]) -> list[list[str]]:
    """The named parts of an expression with their values, each once."""
    named = {
        (part.label, part.shown): None
        for part in parts
        if part.state != "skipped" and not part.label.startswith("the ")
    }
    return [list(pair) for pair in named]
