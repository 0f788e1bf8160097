"""What reads text that others write, each as a function of a text: hostile text that grows is given to them.

The text stands where a person, an agent, a client, a server or a command line writes it.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import h11

import muster.cel as cel
from muster.agents.detect.probes import probe_target
from muster.agents.heartbeat.facts import sum_quantities
from muster.agents.kube.kubeconfig import from_kubeconfig
from muster.agents.relay.alerts import AlertRule, decode_alerts
from muster.agents.report.report import ReportCondition
from muster.agents.works.manifests import ResourceKey, options_of
from muster.cel.runtime import windows
from muster.cel.types import STRING
from muster.cli.fieldselector import parse_field_selector
from muster.cli.markdown import findings_markdown
from muster.cli.options import seconds_of
from muster.cli.outcome import findings_text
from muster.cli.reports import annotations_text, code_quality_text, findings_junit, sarif_text
from muster.cli.table import table_text
from muster.data import agentref, locations, names, printable, times
from muster.data.codes import Code, Severity
from muster.data.finding import Finding
from muster.data.jsonpath.template import parse
from muster.data.kinds import MANAGED_CLUSTER
from muster.data.shares import parse_share
from muster.data.source import Layer, SourceFile
from muster.data.tree import Tree
from muster.data.wildcards import matches
from muster.data.yaml.edit import set_value
from muster.data.yaml.emitter import file_text
from muster.data.yaml.loader import load_documents
from muster.data.yaml.positions import locate
from muster.features.importing.dump import read_dump
from muster.features.page.timeline import state_in
from muster.fleet.files import read_file
from muster.fleet.objects import Object
from muster.fleet.reading import FilesRead
from muster.fleet.schema_findings import schema_findings
from muster.fleet.secrecy import screened
from muster.fleet.settings import DEFAULTS
from muster.git import enginecommits, errors, forges
from muster.git.store import objects, paths
from muster.net.serving import http11
from muster.rules.effects.budget import parse_override
from muster.rules.placements.candidates import approximate
from muster.rules.policies.environments import Bounds, policy_environment
from muster.rules.policies.selectors import LabelSelector
from muster.run.shards import cutting
from muster.run.transitions.transitions import plain
from tests.fuzz.targets import TARGETS

Read = Callable[[str], object]


def _octets(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _source(content: str, path: str = "clusters/a.yaml") -> SourceFile:
    return SourceFile(path, "0" * 40, lambda: _octets(content))


def _each(*functions: Read) -> Read:
    """Give a text to several functions; any of them may reject it."""

    def read(text: str) -> None:
        for function in functions:
            with suppress(Exception):
                function(text)

    return read


def _in(template: str, read: Read) -> Read:
    """Read a text that stands at `TEXT` in a template."""
    return lambda text: read(template.replace("TEXT", text))


# -- files


def _load(text: str) -> object:
    return load_documents(_octets(text), "a.yaml")


def _load_json(text: str) -> object:
    return load_documents(_octets(text), "a.json")


_LIST = "apiVersion: v1\nkind: List\nitems:\n- kind: TEXT\n  a: TEXT\n  metadata: {name: TEXT}\n"


def _read_file(text: str) -> object:
    """Read a file of people, an agent's and a derived one, and print what is wrong with them."""
    reading = FilesRead()
    for layer, path in ((Layer.INPUT, "clusters/a.yaml"), (Layer.DERIVED, "derived/managedclusters/a.yaml")):
        read_file(reading, _source(text, path), layer)
    return findings_text(reading.findings)


def _object(text: str) -> object:
    """Check an object that has the text where names, labels, URLs and times stand."""
    body: Tree = {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": text, "labels": {text: text, "a": text}, "creationTimestamp": text},
        "spec": {
            "leaseDurationSeconds": text,
            "taints": [{"key": text, "effect": text, "timeAdded": text}],
            "managedClusterClientConfigs": [{"url": text, "caBundle": text}],
            text: text,
        },
    }
    return findings_text(schema_findings(Object(MANAGED_CLUSTER.id("a"), body, ())))


def _written(text: str) -> object:
    return file_text({"a": text, text: [text], "b": {"c": [text, {"d": text}]}}, header="x")


_EDITED = "a: TEXT\nb: 'c'\n"


def _edited(text: str) -> object:
    locate(_octets(text), 0, ("b",))
    return set_value(text, 0, ("b",), "d")


def _screened(text: str) -> object:
    return screened(MANAGED_CLUSTER, {"metadata": {"annotations": {"a": text}}, "spec": {"proxyHeader": {text: "x"}}})


def _dumped(text: str) -> object:
    return read_dump([_source(text, "dump.yaml")])


def _kubeconfig(text: str) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder, "config")
        path.write_bytes(_octets(text))
        return from_kubeconfig(path)


_KUBECONFIG = """\
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "TEXT", proxy-url: "TEXT", certificate-authority-data: "TEXT"}}]
users: [{name: a, user: {token: "TEXT", as: "TEXT"}}]
"""


# -- git


def _commit(text: str) -> object:
    content = _octets(text)
    return enginecommits._parsed(content), objects.committer_seconds(content), objects.first_parent(content)


_MESSAGE = f"tree {'1' * 40}\nparent {'2' * 40}\ncommitter A <a@b> 1 +0000\n\nTEXT"
_TRAILER = f"{_MESSAGE.replace('TEXT', 'x')}\n\nMuster-Now: x"


def _reference(text: str) -> object:
    for name in (text, f"refs/heads/agents/{text}", f"refs/heads/relays/{text}~{text}", f"refs/remotes/{text}"):
        agentref.speaks_for.__wrapped__(name)
        agentref.resembles(name)
        agentref.short_name(name)
    return agentref.agent_named(f"{agentref.GROUP}{text}:{text}")


def _path(text: str) -> object:
    content = _octets(text)
    return paths.decode(content), paths.is_dotgit(content), locations.is_portable(text), locations.file_name(text)


def _ignored(text: str) -> object:
    return "a/b/c.yaml" in paths.Ignored(_octets(text)[:4000])  # the patterns of a larger file are not read


def _forge(text: str) -> object:
    return forges.forge_of(text), forges.request_page(text, "github", text, text), errors.explain("push", text, 1)


def _page(text: str) -> object:
    return state_in(_octets(text), MANAGED_CLUSTER), cutting._glance(_octets(text))


_DERIVED = """\
# Written by muster. Edits are overwritten by the next reconcile.
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster

status:
  conditions:
  - type: TEXT
"""


# -- values


def _label(text: str) -> object:
    return names.is_subdomain(text), names.nearest(text, [text * 2, "a", f"{text}a"]), names.slip_of(text, [f"{text}a"])


def _wildcard(text: str) -> object:
    key = ResourceKey("", "a", text, text)
    works: Tree = {
        "manifestConfigs": [{"resourceIdentifier": {"resource": "a", "name": text, "namespace": f"*{text}"}}]
    }
    rule = AlertRule((("a", text),), "A")
    patterns = ("*a*a*a*a*ab", text, f"*{text}", "*".join(text), text.replace("a", "*a"))
    return options_of(works, key), rule.matches({"a": text}), [matches(pattern, f"{text}b") for pattern in patterns]


def _selector(text: str) -> object:
    return LabelSelector.written(text)


def _formats(text: str) -> object:
    found = [Finding(Code.INVALID_OBJECT, Severity.ERROR, text, text, 1, 1, hint=text, excerpt=text, example=text)]
    for form in (findings_text, findings_junit, sarif_text, code_quality_text, annotations_text, findings_markdown):
        form(found)
    return found[0].digest, table_text(["a", "b"], [[text, text]]), list(plain([text]))


def _printed(text: str) -> object:
    return (
        printable.printable_lines(text),
        printable.printable_json(text),
        printable.without_secrets(text, {"TOKEN": text}),
    )


def _window(text: str) -> object:
    """Parse windows, and ask when they next change."""
    return windows.state.__wrapped__(windows.parse.__wrapped__(text), times.LAST.replace(year=2026))


_NUMBERS = _each(
    times.parse_time.__wrapped__,
    times.parse_duration,
    seconds_of,
    parse_share,
    approximate,
    parse_override,
    lambda text: sum_quantities([{"a": text}]),
    windows.zone.__wrapped__,
    windows.period.__wrapped__,
)


# -- expressions


@cache
def _environment() -> cel.Env:
    return policy_environment((), {}, {"text": STRING}, Bounds(DEFAULTS.expression_cost))


def _compiled(text: str) -> object:
    return cel.compile(text, _environment())


@cache
def _program(text: str) -> cel.Program:
    return cel.compile(text, _environment())


def _evaluated(expression: str) -> Read:
    return lambda text: _program(expression).evaluate({"text": text, "now": times.LAST.replace(year=2026)})


#: Functions of texts, each with a text of others as its operand.
_CALLS = (
    "text.matches('(a|b)*c$')",
    "text.find('(a+)+b')",
    "text.findAll('a*b|a').size()",
    "'x'.matches(text)",
    "text.replace('a', 'bb')",
    "text.split('a').size()",
    "text.split('').join('-')",
    "text.lowerAscii().trim()",
    "text.indexOf('ab')",
    "text.lastIndexOf('aab')",
    "text.startsWith(text + 'a')",
    "text.contains(text + 'a')",
    "text.reverse() == text",
    "text.format(['a'])",
    "quantity(text)",
    "isQuantity(text)",
    "semver(text)",
    "url(text)",
    "ip(text)",
    "cidr(text)",
    "duration(text)",
    "timestamp(text)",
    "int(text)",
    "double(text)",
    "bytes(text).size()",
    "base64.decode(text)",
    "strings.quote(text)",
    "now.getHours(text)",
    "[text, text].distinct()",
    "{text: text}[text]",
    "text.charAt(3) in [text]",
    "text.substring(3).size()",
    "window(text)",
    "regex.replace(text, '(a*)', 'x')",
    "regex.extractAll(text, 'a*b')",
    "regex.extract(text, '(a*)b')",
)


# -- peers


def _request(text: str) -> object:
    """Parse the head of a request."""
    head = f"GET / HTTP/1.1\r\nhost: a\r\n{text}\r\n\r\n"[:16384].encode("latin-1", "replace")
    return http11.read_request(h11.Connection(h11.SERVER), head)


def _alert(text: str) -> object:
    return decode_alerts(_octets(text)), ReportCondition.parse(text), probe_target("http", text)


_READERS: dict[str, Read] = {
    "yaml": _load,
    "yaml scalar": _in("apiVersion: v1\nkind: A\nmetadata:\n  name: TEXT\n", _load),
    "yaml quoted": _in("a: \"TEXT\"\nb: 'TEXT'\n", _load),
    "yaml block": _in("a: |\n  TEXT\nb: >-\n  TEXT\n", _load),
    "yaml flow": _in("a: [TEXT]\nb: {TEXT}\n", _load),
    "json": _load_json,
    "json string": _in('{"a": "TEXT", "TEXT": [TEXT]}', _load_json),
    "json constant": _in('{"a": "TEXT", "b": NaN}', _load_json),
    "file": _read_file,
    "file scalar": _in(_LIST, _read_file),
    "object": _object,
    "written": _written,
    "edited": _in(_EDITED, _edited),
    "edited quoted": _in("a: \"TEXT\"\nb: 'TEXT'\n", _edited),
    "secrets": _screened,
    "dump": _dumped,
    "kubeconfig": _each(_kubeconfig, _in(_KUBECONFIG, _kubeconfig)),
    "commit": _commit,
    "commit message": _in(_MESSAGE, _commit),
    "trailer": _in(f"{_TRAILER}TEXT", _commit),
    "trailer value": _in(f"{_TRAILER}TEXTx", _commit),
    "branch": _reference,
    "path": _path,
    "ignored": _ignored,
    "forge": _forge,
    "page": _each(_page, _in(_DERIVED, _page)),
    "label": _label,
    "wildcard": _wildcard,
    "selector": _each(_selector, parse_field_selector),
    "jsonpath": _each(parse, _in("{.a['TEXT']}", parse), _in("{.a[?(@.b=='TEXT')]}", parse)),
    "message": _formats,
    "text": _printed,
    "window": _each(_window, _in("00:00-24:00 except TEXT2026-01-02", _window)),
    "number": _NUMBERS,
    "expression": _compiled,
    "literal": _each(_in("'TEXT'", _compiled), _in('b"TEXT"', _compiled), _in("'''TEXT'''", _compiled)),
    "header": _each(_request, _in("a: TEXT", _request), _in("TEXT: a", _request)),
    "alert": _alert,
    "alerts": _in(json.dumps({"a": ["TEXT"] * 4}), _alert),
    **{f"call {call}": _evaluated(call) for call in _CALLS},
    **{
        f"target {name}": lambda text, eat=target.eat: eat(_octets(text))  # type: ignore[misc]
        for name, target in TARGETS.items()
        if name not in ("fleet", "states", "expressions")
    },
}

#: By name. Whatever a reader raises for bad text is a part of reading it.
READERS: Mapping[str, Read] = MappingProxyType({name: _each(read) for name, read in _READERS.items()})
