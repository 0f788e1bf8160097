"""Remedies: by many clusters and many Remedies, what is asked for is what the definition says, from the state alone."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.data.kinds import REMEDY
from muster.data.tree import dig
from muster.features.test.memory import MemorySnapshot
from muster.fleet.objects import Object
from muster.rules.remedies.policy import ConditionMatch, Remedy
from muster.rules.remedies.requested import Index
from muster.run.evaluate import evaluate_snapshot
from tests.support.outages import START

CLUSTERS = ("a", "b", "c")
_status = st.sampled_from(["True", "False", "Unknown"])
_type = st.sampled_from(["Ready", "Dns", "Disk"])
_statuses = st.dictionaries(_type, _status, max_size=3)
_match = st.builds(ConditionMatch, _type, st.booleans(), _status)
_action = st.sampled_from(["TrafficControl", "Drain", "Page"])


@st.composite
def _remedies(draw: st.DrawFn) -> list[Remedy]:
    found = []
    for number in range(draw(st.integers(0, 6))):
        id_ = REMEDY.id(f"r{number}")
        clusters = draw(st.none() | st.frozensets(st.sampled_from(CLUSTERS), min_size=1))
        matches = tuple(draw(st.lists(_match, max_size=3)))
        actions = tuple(sorted(draw(st.sets(_action))))
        found.append(Remedy(id_, Object(id_, {}, ()), clusters, matches, (), not matches, actions))
    return found


def _defined(remedies: list[Remedy], cluster: str, statuses: dict[str, str]) -> set[str]:
    """Seed 003, word by word: any match is enough, none acts at once, what is missing matches nothing."""
    return {
        remedy.id.name
        for remedy in remedies
        if remedy.actions
        and (remedy.clusters is None or cluster in remedy.clusters)
        and (not remedy.matches or any(m.type in statuses and m.holds(statuses[m.type]) for m in remedy.matches))
    }


@given(_remedies(), st.lists(st.tuples(st.sampled_from(CLUSTERS), _statuses), max_size=12))
def test_the_index_finds_what_the_definition_says(
    remedies: list[Remedy], asked: list[tuple[str, dict[str, str]]]
) -> None:
    index = Index.of(remedies)
    for cluster, statuses in asked:
        found = [remedy.id.name for remedy in index.matching(cluster, statuses)]
        assert len(found) == len(set(found))
        assert set(found) == _defined(remedies, cluster, statuses)


def _cluster(status: str) -> str:
    return (
        "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {name: m}\nspec: {syncMode: Push}\n"
        f"status: {{conditions: [{{type: Dns, status: '{status}'}}]}}\n"
    )


def _remedy(status: str, actions: list[str]) -> str:
    return (
        "apiVersion: remedy.karmada.io/v1alpha1\nkind: Remedy\nmetadata: {name: r}\nspec:\n  decisionMatches:\n"
        f"  - clusterConditionMatch: {{conditionType: Dns, operator: Equal, conditionStatus: '{status}'}}\n"
        f"  actions: [{', '.join(actions)}]\n"
    )


_situation = st.tuples(_status, st.none() | st.tuples(_status, st.lists(_action, min_size=1, max_size=2)))


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_situation, min_size=1, max_size=4).filter(lambda history: history[-1][0] != "Unknown"))
def test_where_there_is_news_what_was_before_does_not_matter(
    history: list[tuple[str, tuple[str, list[str]] | None]],
) -> None:
    derived: dict[str, str] = {}
    texts: dict[str, str] = {}
    for status, remedy in history:
        texts = {"c.yaml": _cluster(status)} | ({"r.yaml": _remedy(*remedy)} if remedy else {})
        run = evaluate_snapshot(MemorySnapshot({**texts, **derived}), START)
        derived = {**derived, **{path: text for path, text in run.files.items() if text is not None}}
        for path in [path for path, text in run.files.items() if text is None]:
            del derived[path]
    fresh = evaluate_snapshot(MemorySnapshot(texts), START)
    (have,), (want,) = ([b for b in r.objects if b["kind"] == "Cluster"] for r in (run, fresh))
    assert dig(have, "status", "remedyActions") == dig(want, "status", "remedyActions")
    assert dig(have, "status", "muster") == dig(want, "status", "muster")
