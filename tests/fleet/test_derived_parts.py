"""What a stranger writes under `derived/` does not count: a finding, and decided anew in the same run."""

from collections.abc import Callable

import pytest

from muster.features.test.memory import MemorySnapshot
from muster.run.evaluate import evaluate_snapshot
from muster.run.run import Run
from tests.support.example import EXAMPLE, NOON

CLUSTER = "derived/managedclusters/stage-us-1.yaml"
TEXTS = {
    str(path.relative_to(EXAMPLE)): path.read_text(encoding="utf-8")
    for path in EXAMPLE.rglob("*.yaml")
    if "/." not in str(path)
}
Edit = Callable[[str], str]


def edited(path: str, edit: Edit) -> Run:
    """The example fleet at rest, but for an edit of one derived file, evaluated at its own instant."""
    text = edit(TEXTS[path])
    assert text != TEXTS[path]
    return evaluate_snapshot(MemorySnapshot({**TEXTS, path: text}), NOON)


def added(path: str, text: str) -> Run:
    return evaluate_snapshot(MemorySnapshot({**TEXTS, path: text}), NOON)


def replacing(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new, 1)


def codes(run: Run) -> list[str]:
    return [found.code for found in run.findings]


REPORT = "derived/adapterreports/prod-us-2/validation.yaml"
POOL = "derived/clusterpools/pools/ci.yaml"


@pytest.mark.parametrize(
    ("path", "edit", "what"),
    [
        pytest.param(
            CLUSTER, replacing("spec:\n", "spec:\n  hubAcceptsClient: false\n"), "spec.hubAcceptsClient", id="value"
        ),
        pytest.param(
            CLUSTER, replacing("spec:\n", "spec:\n  leaseDurationSeconds: 1\n"), "not a known field", id="foreign field"
        ),
        pytest.param(
            CLUSTER, replacing("spec:\n", "data: {}\nspec:\n"), "data is not a known field", id="foreign section"
        ),
        pytest.param(
            CLUSTER, replacing("  generation: 1\n", "  generation: one\n"), "metadata.generation", id="generation"
        ),
        pytest.param(
            CLUSTER, replacing('specChanged: "2025-12-31T12:00:00Z"', "specChanged: 12"), "specChanged", id="time"
        ),
        pytest.param(
            CLUSTER,
            replacing("2026-01-01T11:54:16Z", "0001-01-01T00:00:00+23:59"),
            "lastTransitionTime",
            id="edge of time",
        ),
        pytest.param(CLUSTER, replacing("effect: NoSelect", "effect: [NoSelect]"), "effect", id="a list for a text"),
        pytest.param(
            REPORT, replacing("kind: ManagedCluster\n        ", "kind: [x]\n        "), "muster.accepted", id="report"
        ),
        pytest.param(
            REPORT,
            replacing("observed_generation: 1\n", "observed_generation: {}\n"),
            "accepted",
            id="generation of it",
        ),
        pytest.param(POOL, replacing("nextOrdinal: 10", "nextOrdinal: ten"), "nextOrdinal", id="ordinal"),
        pytest.param(POOL, replacing("failures: 0", "failures: -1"), "failures", id="failures"),
        pytest.param(POOL, replacing("buckets:", "buckets: [1]\n    x:"), "buckets", id="buckets"),
    ],
)
def test_a_strange_field_is_left_out_and_the_rest_counts(path: str, edit: Edit, what: str) -> None:
    run = edited(path, edit)
    found = [one for one in run.findings if one.code == "MUS503"]
    assert found, run.findings
    assert [(one.file, one.severity.value) for one in found][:1] == [(path, "warning")]
    assert what in found[0].message
    assert path in run.files, "it is written as it should be in the same run"
    assert codes(evaluate_snapshot(MemorySnapshot({**TEXTS, **_texts(run)}), NOON)) == [], "and then it is sound"


def _texts(run: Run) -> dict[str, str]:
    return {path: text for path, text in run.files.items() if text is not None}


def test_other_times_of_the_object_stand() -> None:
    run = edited(CLUSTER, replacing('"2026-01-01T11:54:16Z"', "yesterday"))
    text = run.files[CLUSTER]
    assert text is not None
    assert text.replace("2026-01-01T12:00:00Z", "2026-01-01T11:54:16Z") == TEXTS[CLUSTER]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("derived/managedclusters/nobody.yaml", TEXTS[CLUSTER]),
        ("derived/stage-us-1.yaml", TEXTS[CLUSTER]),
        ("derived/clusters/stage-us-1.yaml", TEXTS[CLUSTER]),
        ("derived/managedclusters/a/b/c/stage-us-1.yaml", TEXTS[CLUSTER]),
        ("derived/x.yaml", "a: b\n"),
        ("derived/x.json", "{}"),
        ("derived/secrets/x.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n"),
        ("derived/fleets/other.yaml", "apiVersion: muster.dev/v1\nkind: Fleet\nmetadata: {name: other}\n"),
        ("derived/managedclusters/x.yaml", "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"),
        (
            "derived/managedclusters/-x.yaml",
            "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: '-x'}\n",
        ),
    ],
)
def test_what_is_no_derived_part_is_removed(path: str, text: str) -> None:
    run = added(path, text)
    assert codes(run) == ["MUS502"]
    assert run.files == {path: None}
    assert not run.fleet.unidentified, "nothing else is kept on its account"


def test_a_second_document_does_not_count() -> None:
    other = TEXTS["derived/managedclusters/new-ap-1.yaml"]
    run = edited(CLUSTER, lambda text: f"{text}---\n{other}")
    assert codes(run) == ["MUS502"]
    assert run.files == {CLUSTER: TEXTS[CLUSTER]}


def test_what_a_person_adds_to_a_budget_holds_nothing() -> None:
    """A budget's hold is muster's own record: who could write it could keep a fleet from every remedy."""
    text = (
        "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: example}\nstatus:\n  muster:\n    budgets:\n"
        "    - {budget: default, since: always}\n"
    )
    run = added("derived/fleets/example.yaml", text)
    assert codes(run) == ["MUS503"]
    assert run.held == []
