"""The table of `muster detect --table`: rows, and what is wrong with a table, with its places."""

from pathlib import Path

import pytest

from muster.agents.detect.probes import AnswerProbe
from muster.agents.detect.table import TableFile, TableRow, read_table

SOUND = """
defaults: {period: 10s, kind: Cluster}
probes:
- {clusters: [c1, c2], condition: a.example/Ready, http: "https://{cluster}.example/livez"}
- clusters: [c1]
  condition: Open
  tcp: "{cluster}.example:443"
  period: 30s
  unhealthy: {reason: Closed, message: no port}
- {clusters: [c1], condition: Named, dns: "{cluster}.example", dnsServer: 10.0.0.10, kind: ManagedCluster}
- {clusters: [c1], condition: Run, command: "test -e '/tmp/{cluster} x'", leaseDuration: 2m}
"""


def rows_of(folder: Path, text: str) -> list[TableRow]:
    (folder / "table.yaml").write_text(text)
    rows, findings = read_table(folder / "table.yaml")
    assert findings == []
    return rows


def test_a_row_for_each_cluster(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, SOUND)
    assert [(*row.key, row.sort, row.target, row.lease_seconds) for row in rows] == [
        ("Cluster", "c1", "a.example/Ready", "http", ("https://c1.example/livez",), 45),
        ("Cluster", "c2", "a.example/Ready", "http", ("https://c2.example/livez",), 45),
        ("Cluster", "c1", "Open", "tcp", ("c1.example", "443"), 90),
        ("ManagedCluster", "c1", "Named", "dns", ("c1.example", "10.0.0.10", "53"), 45),
        ("Cluster", "c1", "Run", "command", ("test", "-e", "/tmp/c1 x"), 120),
    ]
    assert rows[2].subject.unhealthy == ("Closed", "no port")
    assert {row.probe().run.__self__.__class__.__name__ for row in rows} == {"BoundedProbe"}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "probes is missing"),
        ("probes: []", "probes is empty"),
        ("a: [\n", "MUS001"),
        ("probes:\n- {clusters: [c1], condition: A}\n", "2:3"),
        ("probes:\n- {clusters: [c1], condition: A, http: 'ftp://a'}\n", "2:34 MUS205"),
        ("probes:\n- {clusters: [c1], condition: A, tcp: 'a:1', http: 'http://a'}\n", "2:3"),
        ("probes:\n- {clusters: [C_1], condition: A, tcp: 'a:1'}\n", "does not have the required form"),
        ("probes:\n- {clusters: [c1], condition: A, tcp: 'a:1', perod: 5s}\n", "did you mean 'period'?"),
        ("probes:\n- {clusters: [c1], condition: A, tcp: 'a:1', period: 5}\n", "must be a text, not 5"),
        ("probes:\n- {clusters: [c1], condition: A, tcp: 'a:1', period: 0s}\n", "must be positive"),
        (
            "probes:\n- {clusters: [c1], condition: A, tcp: 'a:1', period: 1m, leaseDuration: 2m}\n",
            "less than three periods",
        ),
        ("probes:\n- {clusters: [c1], condition: A, tcp: 'a:99999'}\n", "is not HOST:PORT"),
        ("probes:\n- {clusters: [c1], condition: A, dns: a, dnsServer: ns}\n", "is not"),
        ('probes:\n- {clusters: [c1], condition: A, command: "\'"}\n', "No closing quotation"),
        ("probes:\n- {clusters: [c1], condition: A, command: ' '}\n", "' ' is empty"),
        ("probes:\n- {clusters: [c1, c1], condition: A, command: a}\n", "two probes report A of c1"),
        ("probes:\n- {clusters: [c1], condition: A, http: 'http://a', expect: 'true'}\n", "expect"),
        ("probes:\n- {clusters: [c1], condition: A, command: a, expect: 'outpt.a == 1'}\n", "outpt"),
        ("probes:\n- {clusters: [c1], condition: A, command: a, expect: '1 + 1'}\n", "bool"),
    ],
)
def test_mistakes_have_places(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "table.yaml").write_text(text)
    rows, findings = read_table(tmp_path / "table.yaml")
    assert rows == []
    said = "\n".join(f"{one.line}:{one.column} {one.code} {one.message} {one.hint}" for one in findings)
    assert message in said
    assert all(one.file.endswith("table.yaml") for one in findings)


def test_a_table_that_changes(tmp_path: Path) -> None:
    path = tmp_path / "table.yaml"
    path.write_text(SOUND)
    file = TableFile(path)
    assert file.changed() is not None
    assert file.changed() is None
    path.write_text("probes: 3\n")
    assert file.changed() is None
    assert [one.line for one in file.findings] == [1]
    path.unlink()
    assert file.changed() is None
    assert "cannot be read" in file.findings[0].message
    path.write_text(SOUND)
    assert file.changed() is not None


@pytest.mark.parametrize(
    ("command", "expect", "healthy"),
    [
        ("echo '{\"a\": 1}'", "output.a == 1", True),
        ("echo '{\"a\": 1}'", "output.a == 2 || cluster == 'c2'", False),
        ("echo '{\"a\": 1}'", "output.b == 1", None),
        ("echo no", "output.a == 1", None),
        ("false", "output.a == 1", None),
        ("no-such-program", "output.a == 1", None),
        ("sleep 30", "output.a == 1", None),
        ("yes", "output.a == 1", None),
    ],
)
def test_an_answer_is_judged(tmp_path: Path, command: str, expect: str, healthy: bool | None) -> None:
    quoted = command.replace("'", "''")
    text = f"probes:\n- {{clusters: [c1], condition: A, timeout: 300ms, expect: \"{expect}\", command: '{quoted}'}}\n"
    (row,) = rows_of(tmp_path, text)
    assert row.holds is not None
    assert AnswerProbe(row.target, 5.0 if "echo" in command else 0.3, row.holds).run().healthy is healthy
