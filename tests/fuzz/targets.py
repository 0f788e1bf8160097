"""What eats bytes that somebody else wrote: a target is a function of bytes that raises where muster would.

Whatever the bytes are, there is an answer: a value, a finding, or one of the errors that a reader says it raises. An
exception of any other kind, or the finding by which the engine says that it has caught one, is a fault of ours.
A target says what it made of its bytes: nothing, where it refused them. What it is meant for it must not refuse, for
fuzzing that begins with that seldom comes any further.
"""

import base64
import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path

from muster import cel
from muster.agents.hub import protocol
from muster.agents.identity.authority import Approved, Authority, load_authority
from muster.agents.identity.request import CertificateRequest, new_request
from muster.agents.identity.store import identity_of
from muster.cel.types import DYN
from muster.data.codec import MalformedError, encode
from muster.data.codes import Code, Severity
from muster.data.finding import Finding
from muster.data.times import format_time
from muster.data.yaml.loader import load_documents
from muster.features.plan.planfile import PlanFileError, read_plan
from muster.git import journal
from muster.git.agents import relays as relayrefs
from muster.git.enginecommits import EngineCommit
from muster.git.errors import IdentityError
from muster.git.memory import pulses as pulse_memory
from muster.git.record import form
from muster.git.record import reading as record_reading
from muster.git.record.heartbeats import heartbeat_of
from muster.git.signatures.certificate import issued_of
from muster.git.signatures.signature import sealed, signing_key
from muster.git.store.objects import commit_text
from muster.rules.policies import csr
from muster.rules.policies.environments import UNBOUNDED, policy_environment
from muster.run.memo.records import RunRecord, StoredSummary
from muster.run.memo.state import File, NeighbourhoodRecord, RunState, open_state
from muster.run.neighbourhood_records import read_summaries
from muster.run.settle import settle
from tests.support.authority import new_authority
from tests.support.example import EXAMPLE, NOON
from tests.support.fuzzing import FAULTS
from tests.support.mutations import Broken, Files

Eat = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class Target:
    """`eat` takes anything, and returns what it made of it, false for nothing; `seeds` are what it is meant for."""

    eat: Eat
    seeds: Callable[[], Iterable[bytes]]


def of_the_loader(data: bytes) -> object:
    """The reader of YAML, with every problem that it tells."""
    loaded = load_documents(data, "file.yaml")
    assert all(problem.message for problem in loaded.problems)
    return loaded.documents


@cache
def _small() -> Files:
    """Little of everything: a file of it that is broken is soon decided."""
    names = ("fleet.yaml", "clusters/prod-eu-1/cluster.yaml")
    found: Files = {("", name): (EXAMPLE / name).read_bytes() for name in names if (EXAMPLE / name).is_file()}
    found["", "clusters/one.yaml"] = _CLUSTER
    return found


_CLUSTER = b"""\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: one, labels: {region: eu}}
spec: {hubAcceptsClient: true}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: managed-cluster-lease, namespace: one}
spec: {renewTime: "2026-01-01T11:59:30Z", leaseDurationSeconds: 60}
"""


def of_a_fleet(data: bytes) -> object:
    """A file of people, and the same from an agent, in a small fleet that is decided twice."""
    files = {**_small(), ("", "clusters/given.yaml"): data, ("agents/one", "given.yaml"): data}
    for instant in (NOON, NOON + timedelta(minutes=10)):
        settled = settle(Broken(files), instant)
        caught = [found for found in (*settled.first.findings, *settled.findings) if found.code in FAULTS]
        assert not caught, caught
        for path, text in settled.files.items():
            files["", path] = b"" if text is None else text.encode()
    return settled.first.objects


def of_expressions(data: bytes) -> object:
    """An expression of a policy: compiled, and evaluated over a cluster within its budget."""
    text = data.decode(errors="replace")
    environment = policy_environment((), {}, {"anything": DYN}, UNBOUNDED)
    try:
        program = cel.compile(text, environment)
    except cel.CompileError as error:
        assert error.issues
        return None
    with suppress(cel.EvaluationError):
        return program.evaluate(_VALUES)
    return None


_VALUES: Mapping[str, object] = {
    "self": {"metadata": {"name": "one", "labels": {"a": "b"}}, "spec": {"n": 1, "list": [1, 2, "x", None]}},
    "anything": {"text": "x", "bytes": b"\xff", "deep": [[[{}]]]},
    "now": NOON,
    "lease": {},
    "conditions": {},
    "reported": {},
    "previous": {},
    "params": {},
    "generation": 1,
    "adapters": {},
    "variables": {},
}


def of_plan_files(data: bytes) -> object:
    """What `reconcile --plan FILE` reads."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plan.json")
        path.write_bytes(data)
        with suppress(PlanFileError):
            return read_plan(path)
    return None


def of_states(data: bytes) -> object:
    """What is kept between runs: read, or begun anew."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "own", "state.sqlite")
        path.parent.mkdir(mode=0o700)
        path.write_bytes(data)
        found: object = None
        state = open_state(path)
        if state is not None:
            with suppress(sqlite3.Error):  # what is damaged further on is found as it is read, and dropped by callers
                found = _all_of(state)
            state.close()
        return found


def _all_of(state: RunState) -> object:
    if state.facts() is None:
        return None
    homes = state.whole() | state.due(1 << 40)
    state.next_due()
    return all(
        [
            homes,
            state.kept(homes),
            state.names(homes),
            state.files(homes),
            state.context(),
            state.summaries((), read_summaries),
            list(state.findings(())),
            state.last_reports()["lease"],
        ]
    )


def of_notes(data: bytes) -> object:
    """What a killed run has left of what it was about to do."""
    note = journal._read(data)
    assert isinstance(note.ref, str)
    return note.ref


def of_pulse_memories(data: bytes) -> object:
    """What a branch that anybody may push to says of pulses that went out."""
    memory = pulse_memory.decoded({"one.json": data})
    written = pulse_memory.encoded(memory)
    assert pulse_memory.encoded(pulse_memory.decoded(written)) == written
    return memory.published and memory.arrived


def of_certificates(data: bytes) -> object:
    """What the hub hands to an agent for its certificate, and what stands under `derived/` as one."""
    found: list[object] = []
    for pem in (data, _pem(b"CERTIFICATE", data)):
        issued = issued_of(pem)
        with suppress(IdentityError):
            found.append(identity_of(_request(), pem) and issued)
    return any(found)


def of_requests(data: bytes) -> object:
    """A request for a certificate, as policies see it, as the engine does and as whoever signs it does."""
    found: list[object] = []
    for pem in (data, _pem(b"CERTIFICATE REQUEST", data)):
        seen = csr._content(base64.b64encode(pem).decode())
        agent = csr.agent_of(seen)
        approved = Approved(pem, seen["commonName"], seen["organizations"], ["client auth"])
        with suppress(IdentityError):
            found.append(_authority().sign(approved, NOON) and agent)
    return any(found)


def of_signatures(data: bytes) -> object:
    """An agent's commit: with a signature anywhere in it, and as the signature of one."""
    armored = b"-----BEGIN SSH SIGNATURE-----\n %b\n -----END SSH SIGNATURE-----" % base64.b64encode(data)
    head, _, message = _UNSIGNED.partition(b"\n\n")
    return signing_key(b"%b\ngpgsig %b\n\n%b" % (head, armored, message)) or signing_key(data)


_UNSIGNED = commit_text({"lease.yaml": b"a: 1\n"}, "Agent <a@b>", NOON, "Renew")


def of_relays(data: bytes) -> object:
    """What an agent sends to a relay, and a folder in a relay's commit."""
    found: list[object] = []
    with suppress(ValueError):
        found.append(protocol.read_put(data))
    with suppress(ValueError):
        found.append(protocol.read_hub_query(data.decode("latin-1")))
    commit, _ = relayrefs._split_folder(data, 20)
    return any((*found, commit))


def of_records(data: bytes) -> object:
    """The record of a run, as whoever may push could write it."""
    files = dict(zip(_RECORD_FILES, data.split(b"\x1e"), strict=False))
    commit = EngineCommit("1" * 40, NOON, "2" * 40, "", "3" * 40)
    with suppress(MalformedError):
        heard = record_reading._heard(commit, form.parse_record(files, int(NOON.timestamp())))
        beats = [heartbeat_of(ref, text, "", "sha1") for ref, text in heard.commits.items()]
        return heard.refs.refs or beats or heard.late
    return None


_RECORD_FILES = ("run.json", "refs/--", "ages", "commits", "late", "pulses/one.json")


def _pem(kind: bytes, der: bytes) -> bytes:
    return b"-----BEGIN %b-----\n%b-----END %b-----\n" % (kind, base64.encodebytes(der), kind)


@cache
def _request() -> CertificateRequest:
    return new_request("one")


@cache
def _authority() -> Authority:
    with tempfile.TemporaryDirectory() as folder:
        return load_authority(*new_authority(Path(folder)), timedelta(hours=1), NOON)


#: What readers of anything stumble over: deep nesting, long numbers, halves of characters, no text at all.
NASTY = (
    b"",
    b"[" * 3000,
    b'{"a":' * 3000,
    b"(" * 3000,
    b"- " * 3000,
    b"a: " * 300,
    b"9" * 5000,
    b"1e999999999",
    b'{"\\ud800/a/b/c": {"p": {"generation": 1, "time": "2026-01-01T00:00:00Z", "count": 1}}}',
    b"\0",
    b"\xff\xfe",
    "\ufeffa: \u2028b".encode(),
    b"&a [*a, *a]",
    b"NaN",
    b'{"a": 1, "a": 2}',
    b"!!python/object:os.system x",
)


def _yaml() -> Iterable[bytes]:
    return [path.read_bytes() for path in sorted(EXAMPLE.rglob("*.yaml")) if "/." not in str(path)]


def _expressions() -> Iterable[bytes]:
    return [
        b"has(lease.spec) ? now - lease.spec.renewTime > duration('5m') : has(self.spec)",
        b"self.spec.list.exists(x, x == 'x') ? 'a'.matches('^a+$') : [1, 2.0, 3u, b'x'].size() > 2",
        b"{'a': 1}.map(k, k + string(now)).join(',').format([1]) != optional.of('1').orValue('')",
        b"timestamp('2026-01-01T00:00:00Z').getFullYear() % 4 == 0 || cel.bind(x, anything, x.deep[0][0] != null)",
    ]


def _plans() -> Iterable[bytes]:
    change = {
        "object": {"group": "g", "kind": "K", "namespace": "", "name": "a"},
        "field": "phase",
        "before": "",
        "after": "Up",
        "note": "",
        "rule": "",
    }
    plan = {
        "format": "muster.dev/plan/v1",
        "now": "2026-01-01T12:00:00Z",
        "commit": "0" * 40,
        "agents": {"x": "1" * 40},
        "files": {"derived/a.yaml": "x", "derived/b.yaml": None},
        "changes": [change],
        "summary": "",
        "held": [],
        "horizon": None,
    }
    return [json.dumps(plan).encode()]


def _states() -> Iterable[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "own", "state.sqlite")
        state = open_state(path)
        assert state is not None
        known = NeighbourhoodRecord(
            "one",
            frozenset(("one", "alias")),
            frozenset((File("a.yaml"), File("policies/b.yaml", context=True))),
            shared=False,
            troubled=True,
            due=1,
            settled=2,
            digest="d",
            given="g",
            summary=encode(StoredSummary((), (), (), (), ())),
            totals={"clusters": 1},
            findings=(Finding(Code.FIELD_SET_TWICE, Severity.ERROR, "x"),),
            last_reports={"lease": [1]},
        )
        state.replace(RunRecord("x", 1), [known], None)
        state.close()
        return [path.read_bytes()]


def _notes() -> Iterable[bytes]:
    return [b'{"ref": "refs/heads/main", "old": "", "new": "", "worktree": "", "seconds": 1}']


def _memories() -> Iterable[bytes]:
    whole = {"generation": 2, "time": "2026-01-01T00:00:00Z", "count": 3}
    half = {**whole, "arrived": {"event": "e", "sinks": ["web"]}}
    return [json.dumps({"g/K/ns/one": {"p": half, "q": whole}}).encode()]


def _certificates() -> Iterable[bytes]:
    request = _request()
    pem = _authority().sign(Approved(request.pem, request.user, [], ["client auth"]), NOON)
    return [pem, _der(pem)]


def _requests() -> Iterable[bytes]:
    return [_request().pem, _der(_request().pem)]


def _signatures() -> Iterable[bytes]:
    signed = sealed(_UNSIGNED, _request().key)
    armor = signed.partition(b"-----BEGIN SSH SIGNATURE-----")[2].partition(b"-----END")[0]
    return [signed, base64.b64decode(b"".join(armor.split()))]


def _relays() -> Iterable[bytes]:
    return [
        b'{"expected": null, "files": {"lease.yaml": "a: 1", ".commit": "tree 00"}}',
        b"request=a-1&request=b",
        b"100644 .commit\0" + b"\1" * 20 + b"100644 lease.yaml\0" + b"\2" * 20,
    ]


def _records() -> Iterable[bytes]:
    facts = form.facts_bytes(form.RunFacts(form.VERSION, "1", format_time(NOON), "2" * 40))
    whole = form.row_line(form.RefRow("refs/heads/agents/a", files={"a.yaml": ["a: 1\n"]}))
    renewing = form.row_line(
        form.RefRow("refs/heads/agents/a", files={"a.yaml": ["renewTime: ", 0, "\n"]}, digits=(0,))
    )
    commits = form.commits_bytes({"refs/heads/agents/a": _UNSIGNED}, {})
    late = form.late_bytes([form.LateRenewal("agents/a", format_time(NOON), format_time(NOON))])
    return [
        b"\x1e".join(files)
        for files in ((facts, whole, b"", commits, b"", b"{}"), (facts, renewing, b"\0\0", b"", late))
    ]


def _der(pem: bytes) -> bytes:
    return base64.b64decode(b"".join(pem.splitlines()[1:-1]))


TARGETS: Mapping[str, Target] = {
    "loader": Target(of_the_loader, _yaml),
    "fleet": Target(of_a_fleet, _yaml),
    "expressions": Target(of_expressions, _expressions),
    "plans": Target(of_plan_files, _plans),
    "states": Target(of_states, _states),
    "notes": Target(of_notes, _notes),
    "memories": Target(of_pulse_memories, _memories),
    "certificates": Target(of_certificates, _certificates),
    "requests": Target(of_requests, _requests),
    "signatures": Target(of_signatures, _signatures),
    "records": Target(of_records, _records),
    "relays": Target(of_relays, _relays),
}
