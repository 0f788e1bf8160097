"""Edited policies: whose neighbourhoods have to be looked at because of them, told from summaries."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC

from muster.data.kinds import ALL
from muster.data.tree import Tree
from muster.fleet.assemble import assemble
from muster.fleet.beyond import Beyond
from muster.fleet.shared import OF_CLUSTERS
from muster.git.snapshot import CommitSnapshot
from muster.rules.checks.validate import validate
from muster.rules.concern import ConcernsAll, concerned
from muster.run.answer import require_record
from muster.run.homes import kind_name, read_summaries
from muster.run.question import Question, Touched, WholeNeeded
from muster.run.state import State


def homes_concerned(question: Question, state: State, facts: Mapping[str, Tree], touched: Touched) -> frozenset[int]:
    """Return the neighbourhoods that edits of policies concern, as far as they have summaries. WholeNeeded where that
    is not to be told."""
    paths = {file.path for file in state.context()} | touched.unknown
    with CommitSnapshot(question.repository, facts["commit"], only=paths) as then:
        before = validate(assemble(then))
    with question.snapshot(paths, ()) as now:
        after = validate(assemble(now))
    for one in (before, after):
        require_record(one, ())
    if before.settings.spec != after.settings.spec:
        raise WholeNeeded("the Fleet's settings changed")
    known = state.summaries(state.whole(), read_summaries)
    summaries = known.values()
    objects = {obj.id: obj for summary in summaries for obj in summary.objects}
    decided = {id_: found for summary in summaries for id_, found in summary.decisions()}
    standing = replace(after, objects={**objects, **after.objects}, decided=decided)
    totals = facts["totals"]
    counts = {kind: totals.get(f"kind {kind_name(kind)}", 0) - len(standing.of(kind)) for kind in ALL}
    standing = replace(standing, beyond=Beyond(counts=counts))
    instant = question.now.astimezone(UTC).replace(microsecond=0)
    try:
        found = concerned(standing, before, after, instant, OF_CLUSTERS)
    except ConcernsAll as error:
        raise WholeNeeded(str(error)) from None
    names = {
        name for name, summary in known.items() if summary.pressed or any(obj.id in found for obj in summary.objects)
    }
    return frozenset(state.of_names(names) | state.failing())
