"""A Helm chart of an agent: the objects of `muster.agents.join.manifests`, with values in them.

A chart has no namespaces: `helm uninstall` takes all that a chart has, and the namespace of the add-ons is Open Cluster
Management's. The agent's own is the release's (`helm install --create-namespace`). Values may be anything that a user
sets, so each string with values is one quoted expression.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from muster.agents.join.manifests import NAME, OPEN_PORTS, AgentSetup, manifests
from muster.cli.documents import yaml_stream
from muster.data.tree import Tree
from muster.data.yaml.emitter import emit
from muster.version import __version__

#: Marks where an expression of a template belongs, in strings of objects and in YAML.
_MARK, _END = "\0", "\1"
_PORTS: Final = "PORTS"
#: Where the address listens, as `muster.agents.join.manifests.port_of` says it.
_HELPERS: Final = """\
{{- define "muster-agent.port" -}}
{{- $address := toString .Values.address -}}
{{- $scheme := regexFind "^[^/:]*://" $address -}}
{{- $host := regexFind "^[^/?#]*" (trimPrefix $scheme $address) -}}
{{- $scheme = trimSuffix "://" $scheme | lower -}}
{{- $port := regexFind ":[0-9]+$" $host | trimPrefix ":" -}}
{{- if and $scheme $port -}}
{{- $port -}}
{{- else if or (not $scheme) (has "ssh" (splitList "+" $scheme)) -}}
22
{{- else -}}
{{- get (dict "http" "80" "git" "9418") $scheme | default "443" -}}
{{- end -}}
{{- end -}}
"""


def helm_chart(setup: AgentSetup) -> Mapping[str, str]:
    """Return the files of a Helm chart, whose default values are those of `setup`; its namespace is the release's."""
    values = {"cluster": setup.cluster, "address": setup.address, "image": setup.image, "secret": setup.secret}
    marked = {name: f"{_MARK}.Values.{name}{_END}" for name in values}
    template = replace(
        setup,
        cluster=marked["cluster"],
        address=marked["address"],
        image=marked["image"],
        secret=marked["secret"],
        namespace=f"{_MARK}.Release.Namespace{_END}",
    )
    bodies = [body for body in manifests(template) if body["kind"] != "Namespace"]
    for body in bodies:
        if body["kind"] == "NetworkPolicy":
            (rule,) = body["spec"]["egress"]
            rule["ports"] = [port for port in rule["ports"] if port["protocol"] != "TCP"] + [_PORTS]
    expressions = list[str]()
    text = yaml_stream([_with_tokens(body, expressions) for body in bodies])
    for number, expression in reversed([*enumerate(expressions)]):
        text = text.replace(_token(number), expression)
    chart = {
        "apiVersion": "v2",
        "name": NAME,
        "description": "Reports a cluster to its muster fleet",
        "type": "application",
        "version": __version__,
        "appVersion": __version__,
    }
    return {
        "Chart.yaml": emit(chart),
        "values.yaml": emit(values),
        "templates/_helpers.tpl": _HELPERS,
        "templates/agent.yaml": "".join(map(_line, text.splitlines(keepends=True))),
    }


def _token(number: int) -> str:
    """A word that needs no quotes in YAML, and is no part of another."""
    return f"expression-{number}-of-the-template"


def _with_tokens(body: Tree, expressions: list[str]) -> Tree:
    """The object with a token for each string that has marks; the expressions are added to the list."""
    if isinstance(body, dict):
        return {key: _with_tokens(value, expressions) for key, value in body.items()}
    if isinstance(body, list):
        return [_with_tokens(value, expressions) for value in body]
    if not isinstance(body, str) or _MARK not in body:
        return body
    expressions.append(_expression(body))
    return _token(len(expressions) - 1)


def _expression(text: str) -> str:
    """A template's expression for a string with marks: quoted, as YAML reads it."""
    first, *parts = text.split(_MARK)
    names, form = list[str](), first.replace("%", "%%")
    for part in parts:
        name, _, rest = part.partition(_END)
        names.append(name)
        form += "%v" + rest.replace("%", "%%")
    value = names[0] if form == "%v" else f"printf {json.dumps(form)} {' '.join(names)}"
    return f"{{{{ {value} | quote }}}}"


def _line(line: str) -> str:
    """A line of the template: the list of ports becomes a loop, so that each port is there once."""
    indent, item, _ = line.partition(f"- {_PORTS}")
    if not item:
        return line
    open_ports = " ".join(map(str, OPEN_PORTS))
    loop = [
        f'{{{{- range uniq (list {open_ports} (include "muster-agent.port" . | int)) }}}}',
        "- port: {{ . }}",
        "  protocol: TCP",
        "{{- end }}",
    ]
    return "".join(f"{indent}{step}\n" for step in loop)
