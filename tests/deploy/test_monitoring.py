"""deploy/monitoring: every query asks for metrics and labels that there are, and alerts fire when they should."""

import json
import re
import shutil
import subprocess
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from muster.data.tree import Tree
from muster.features.metrics.metrics import METRICS, OUTCOMES, SINK_TYPES, Sort, Values
from muster.run.progress import RunStep

FOLDER = Path(__file__).parents[2] / "deploy" / "monitoring"
RULES = [rule for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"] for rule in group["rules"]]
BOARD = json.loads((FOLDER / "dashboard.json").read_text())
PROMTOOL = shutil.which("promtool")


def exposed() -> dict[str, set[str]]:
    """The labels of each series, as Prometheus is told of it once everything was counted."""
    values = Values(lambda: 0.0, "f")
    for one in METRICS:
        labels = ("any",) * len(one.labels)
        if one.sort is Sort.GAUGE:
            values.put(one, [(labels, 1)])
        elif one.sort is Sort.COUNTER:
            values.add(one, *labels)
        elif one.sort is Sort.HISTOGRAM:
            values.observe(one, 1.0, *labels)
    values.heard({"lease": array("q", [0])})
    families = text_string_to_metric_families(values.text().decode())
    return {sample.name: set(sample.labels) for family in families for sample in family.samples}


SERIES = exposed()
#: Of labels with few values: which those are.
VALUES = {
    "outcome": {*OUTCOMES},
    "stage": {"beginning", *(step.name.lower() for step in RunStep)},
    "status": {"True", "False", "Unknown", "none"},
    "severity": {"error", "warning"},
    "source": {"lease", "report"},
    "type": {*SINK_TYPES},
}
_SERIES = re.compile(r"\b(muster_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
_GROUPING = re.compile(r"\bby \(([^)]*)\)")


def queries() -> Iterator[tuple[str, str]]:
    """Each query, by the name of its panel or alert."""
    yield from ((rule["alert"], rule["expr"]) for rule in RULES)
    for panel in BOARD["panels"]:
        yield from ((panel["title"], target["expr"]) for target in panel["targets"])
    for variable in BOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], re.sub(r"label_values\((\w+), (\w+)\)", r"sum by (\2) (\1)", variable["query"])


@pytest.mark.parametrize(("name", "query"), list(queries()))
def test_a_query_asks_for_what_there_is(name: str, query: str) -> None:
    found = _SERIES.findall(query)
    assert found, query
    for series, matchers in found:
        assert series in SERIES, name
        told = _MATCHER.findall(matchers)
        assert ",".join(f'{label}{how}"{value}"' for label, how, value in told) == matchers.replace(", ", ",")
        for label, how, value in told:
            assert label in SERIES[series], name
            if label in VALUES:
                assert set(value.split("|") if "~" in how else [value]) <= VALUES[label], name
    known = set.union(*(SERIES[series] for series, _ in found))
    for labels in _GROUPING.findall(query):
        assert {label.strip() for label in labels.split(",")} <= known, name


def test_who_is_woken_is_told_what_to_do() -> None:
    for rule in RULES:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"]["summary"], rule["alert"]
        assert len(rule["annotations"]["description"]) > 100, rule["alert"]
        assert "fleet" in rule["annotations"]["summary"] or "absent" in rule["expr"], rule["alert"]


def test_panels_have_places_of_their_own() -> None:
    taken = set[tuple[int, int]]()
    for panel in BOARD["panels"]:
        at: Tree = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (make servers)")
@pytest.mark.parametrize("arguments", [("check", "rules", "alerts.yaml"), ("test", "rules", "alerts.test.yaml")])
def test_promtool_agrees(arguments: tuple[str, ...]) -> None:
    done = subprocess.run([str(PROMTOOL), *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_is_tested_both_ways() -> None:
    tests = yaml.safe_load((FOLDER / "alerts.test.yaml").read_text())["tests"]
    quiet = {one["alertname"] for one in tests[0]["alert_rule_test"]}
    loud = {one["alertname"] for test in tests for one in test.get("alert_rule_test", ()) if "exp_alerts" in one}
    samples = [
        sample["labels"] for test in tests for one in test.get("promql_expr_test", ()) for sample in one["exp_samples"]
    ]
    loud |= {name for labels in samples for name in re.findall(r'alertname="(\w+)"', labels)}
    assert quiet == loud == {rule["alert"] for rule in RULES}
