"""Drills: which clusters they lose together, and what an expression may be about."""

from pathlib import Path

import pytest

from muster.data.codes import Code
from muster.git.directory import DirectorySnapshot
from muster.rules.drills.policy import Drill
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.checking import check_snapshot
from tests.support.living import cluster

DRILL = """\
apiVersion: muster.dev/v1alpha1
kind: Drill
metadata: {{name: d}}
spec:
  lose: {lose}
  never:
  - name: n
    expression: {when}
"""


def fleet(folder: Path, lose: str = "{each: region}", when: str = "placement.clusters.size() < 2") -> FleetWithPolicies:
    (folder / "d.yaml").write_text(DRILL.format(lose=lose, when=when))
    for name, region in (("a", "eu"), ("b", "us"), ("c", "us")):
        (folder / f"{name}.yaml").write_text(cluster(name, region=region))
    return check_snapshot(DirectorySnapshot(folder, {}))


@pytest.mark.parametrize(
    ("lose", "domains"),
    [
        ("{each: region}", {"region=eu": {"a"}, "region=us": {"b", "c"}}),
        ("{pairs: region}", {"region=eu and region=us": {"a", "b", "c"}}),
        ("{clusters: ['[ab]', b, 'c*']}", {"b": {"b"}, "c": {"c"}}),
        ("{selector: {matchLabels: {region: us}}}", {"selected": {"b", "c"}}),
    ],
)
def test_domains(tmp_path: Path, lose: str, domains: dict[str, set[str]]) -> None:
    checked = fleet(tmp_path, lose)
    (drill,) = checked.compiled.of(Drill)
    assert {domain.name: set(domain.clusters) for domain in drill.domains(checked.clusters())} == domains


@pytest.mark.parametrize(
    ("lose", "place", "message", "hint"),
    [
        ("{each: regoin}", "5:10", "the label 'regoin', which no cluster has", "region"),
        ("{pairs: cluster}", "5:10", "the label 'cluster', which no cluster has", ""),
        ("{clusters: [aa, d*]}", "5:10", "Drill/d loses no cluster", ""),
        ("{selector: {matchLabels: {region: ap}}}", "5:10", "Drill/d loses no cluster", ""),
    ],
)
def test_a_domain_without_clusters(tmp_path: Path, lose: str, place: str, message: str, hint: str) -> None:
    checked = fleet(tmp_path, lose)
    (drill,) = checked.compiled.of(Drill)
    assert drill.domains(checked.clusters()) == []
    found = drill.lost_nothing(checked.clusters())
    assert (found.code, f"{found.line}:{found.column}") == (Code.DRILL_LOSES_NOTHING, place)
    assert message in found.message
    assert hint in found.hint


@pytest.mark.parametrize(
    ("when", "code", "message"),
    [
        ("lease.spec == null", Code.CEL_TYPE, "undeclared name 'lease'"),
        ("placement.taints.size() > 0", Code.CEL_TYPE, "taints"),
        ("placement.clusters.size() > ingress.backends.size()", "MUS306", "names both placement and ingress"),
        ("1 < 2", "MUS306", "names nothing that a drill looks at"),
        ("placement.name", Code.CEL_TYPE, "bool"),
        ("pool.", Code.CEL_SYNTAX, ""),
    ],
)
def test_an_expression_over_what_a_drill_cannot_know(tmp_path: Path, when: str, code: Code, message: str) -> None:
    checked = fleet(tmp_path, when=when)
    assert checked.compiled.of(Drill) == ()
    (found,) = (one for one in checked.findings if one.code in (Code.CEL_TYPE, Code.CEL_SYNTAX, "MUS306"))
    assert (found.code, found.line) == (code, 8)
    assert message in found.message
    assert "a" in {id_.name for id_ in checked.objects.keys() - checked.broken}, "the rest is decided"
