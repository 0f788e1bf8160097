"""Many detectors in one process: a row that hangs, a table that changes, and ten clusters through a relay."""

import hashlib
import re
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread

from muster.agents.detect.many import TableDetector
from muster.agents.detect.report import Subject, read_report
from muster.agents.detect.reporters import FileReporter, Reporter
from muster.agents.detect.table import TableFile, TableRow
from muster.data.kinds import MANAGED_CLUSTER
from tests.agents.relay.test_relay import SETTINGS
from tests.features.pulses.test_walkthrough import cluster
from tests.support.git import clone, new_repository
from tests.support.patience import wait_until
from tests.support.processes import running

QUICK = "defaults: {period: 50ms, timeout: 300ms, failureThreshold: 0s, successThreshold: 0s}\nprobes:\n"


def row(cluster: str, target: str) -> str:
    return f"- {{clusters: [{cluster}], condition: Open, {target}}}\n"


def test_a_row_that_hangs_and_a_table_that_changes(tmp_path: Path) -> None:
    table, lines = tmp_path / "table.yaml", list[str]()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        hanging = "".join(row(f"hung-{number}", f"http: 'http://127.0.0.1:{port}/'") for number in range(4))
        table.write_text(QUICK + hanging + row("quick", f"tcp: '127.0.0.1:{port}'"))
        file = TableFile(table)
        reporter: Callable[[TableRow], Reporter] = lambda one: FileReporter(  # noqa: E731
            tmp_path / f"{one.subject.cluster}.yaml", one.subject, 0.1
        )
        rows: Callable[[], Sequence[TableRow] | None] = file.changed
        stop, wake = Event(), Event()
        detector = TableDetector(rows, reporter, lines.append, threads=2)
        thread = Thread(target=detector.run, args=(stop, wake), daemon=True)
        thread.start()
        try:
            wait_until(lambda: all(status(tmp_path, f"hung-{number}") is False for number in range(4)))
            wait_until(lambda: status(tmp_path, "quick") is True)
            table.write_text(QUICK + row("quick", "tcp: '127.0.0.1:1'") + row("new", f"tcp: '127.0.0.1:{port}'"))
            wait_until(lambda: status(tmp_path, "new") is True and status(tmp_path, "quick") is False)
            table.write_text(QUICK + "- nothing\n")
            wait_until(lambda: bool(file.findings))
            (tmp_path / "new.yaml").unlink()
            wait_until(lambda: status(tmp_path, "new") is True)
        finally:
            stop.set()
            wake.set()
            thread.join(10)
    assert not thread.is_alive()
    assert lines[0] == "detecting 5 conditions of 5 clusters"
    assert "detecting 2 conditions of 2 clusters" in lines
    assert any(re.search(r"quick: Open: \S+ reported False: TCP 127.0.0.1:1", line) for line in lines)


def status(folder: Path, cluster: str) -> bool | None:
    path = folder / f"{cluster}.yaml"
    return read_report(Subject(MANAGED_CLUSTER, cluster, "Open"), path.read_bytes() if path.exists() else b"").healthy


def test_ten_clusters_through_a_relay(tmp_path: Path) -> None:
    names = [f"edge-{number}" for number in range(10)]
    hub = new_repository(tmp_path / "hub.git", bare=True)
    person = clone(hub, tmp_path / "person")
    person.commit({"fleet.yaml": SETTINGS, **{f"clusters/{name}.yaml": cluster(name) for name in names}})
    person.git("push", "--quiet", "origin", "main")
    tokens = tmp_path / "tokens"
    tokens.mkdir()
    for name in names:
        (tokens / name).write_text(f"secret of {name}\n")
    lines = [f"{name} {hashlib.sha256(f'secret of {name}'.encode()).hexdigest()}\n" for name in names]
    (tmp_path / "known").write_text("".join(lines))
    repo = new_repository(tmp_path / "relay.git", bare=True)
    environ = {**hub.environ, "PYTHONUNBUFFERED": "1"}
    with running(
        "relay",
        "--repo",
        str(repo.path),
        "--remote",
        str(hub.path),
        "--name",
        "edge",
        "--every",
        "0.2",
        "--listen",
        "127.0.0.1:0",
        "--tokens",
        str(tmp_path / "known"),
        environ=environ,
    ) as relay:
        relay.wait_for("listening on")
        url = next(found[0] for line in relay.lines if (found := re.search(r"http://\S+", line)))
        address = url.partition("//")[2]
        table = tmp_path / "table.yaml"
        table.write_text(f"probes:\n- {{clusters: [{', '.join(names)}], condition: Open, tcp: '{address}'}}\n")
        target = ("--relay", url, "--token-file", str(tokens / "{cluster}"))
        with running("detect", "--table", str(table), *target, environ=environ) as detector:
            for name in names:
                detector.wait_for(f"{name}: Open: ")
            held = ("ls-tree", "-r", "--name-only", "relays/edge")
            wait_until(
                lambda: hub.git(*held, check=False).count("/detectors/open.yaml") == 10, lambda: str(relay.lines)
            )
        assert sum("reported True" in line for line in detector.lines) == 10
