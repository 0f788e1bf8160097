"""What collectors send to a relay over HTTP: alerts of an Alertmanager, and conditions and adapters' reports as JSON.

`openapi.json` beside this module defines the messages: a body is checked against the schema in it, so the document and
the server cannot differ. Each collector has files of its own in the folder of a cluster, `<collector>/conditions/`,
`alerts/` and `reports/`, and a condition that two collectors report is a conflict that the evaluation shows.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from muster.agents.detect.report import Subject, read_report
from muster.agents.hub.local import LocalHub
from muster.agents.relay.alerts import (
    AlertRule,
    Alerts,
    decode_alerts,
    encode_alerts,
    outcome,
    read_alert,
    with_alert,
)
from muster.agents.relay.authentication import Sender
from muster.agents.relay.collected import Changes, CollectedFiles, FilePath
from muster.agents.report.report import ReportCondition, check_report, report_object
from muster.data.agentref import Mandate
from muster.data.ids import ObjectId
from muster.data.kinds import BY_NAME, MANAGED_CLUSTER, TARGETS, Kind
from muster.data.times import format_time, try_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at, read_json
from muster.data.yaml.emitter import file_text
from muster.dataclass import dataclass

if TYPE_CHECKING:
    from jsonschema_rs import Validator

ALERTMANAGER, REPORTS, DOCUMENT = "/v1/alertmanager", "/v1/reports", "/v1/openapi.json"
#: The longest body of a request.
MOST_BYTES: Final = 4 << 20
#: So many ignored alerts are named in an answer.
_MOST_NAMED: Final = 20


class ForbiddenError(ValueError):
    """The sender may not report on a cluster, or the fleet does not have it."""


@dataclass(frozen=True, slots=True)
class Taken:
    """How many alerts, conditions or reports count, and which are ignored, with the reasons."""

    count: int
    ignored: Sequence[str] = ()

    def tree(self) -> Tree:
        """Return the answer."""
        more = len(self.ignored) - _MOST_NAMED
        return {"taken": self.count, "ignored": [*self.ignored[:_MOST_NAMED], *([f"{more} more"] if more > 0 else ())]}


@dataclass
class Collectors:
    """Takes messages of collectors into `files`. `mandate`: the clusters that the relay may report on, and `rules` for
    alerts, both as the Fleet says. `signed`: the Fleet asks for signatures, so collectors do not count."""

    files: CollectedFiles
    hub: LocalHub
    clock: Callable[[], datetime]
    mandate: Mandate = Mandate()
    rules: tuple[AlertRule, ...] = ()
    signed: bool = False

    def take_alerts(self, sender: Sender, body: bytes) -> Taken:
        """Take a webhook. ForbiddenError if all alerts that match a rule are of clusters of others; ValueError if it is
        malformed; RepositoryError if it cannot be kept: then nothing counts."""
        message = read_message(body, "Webhook")
        ignored, forbidden = list[str](), list[str]()
        by_subject: dict[Subject, list[tuple[AlertRule, Tree]]] = {}
        for alert in mappings_at(message, "alerts"):
            labels = mapping_at(alert, "labels")
            name = labels.get("alertname", alert["fingerprint"])
            rule = next((rule for rule in self.rules if rule.matches(labels)), None)
            cluster = "" if rule is None else str(labels.get(rule.cluster_label, ""))
            if rule is None or not cluster:
                why = "no rule of the Fleet matches it" if rule is None else f"it has no label {rule.cluster_label}"
                ignored.append(f"{name}: {why}")
            elif why := self._why_not(sender, rule.kind, cluster):
                forbidden.append(f"{name}: {why}")
            else:
                by_subject.setdefault(Subject(rule.kind, cluster, rule.condition), []).append((rule, alert))
        if forbidden and not by_subject:
            raise ForbiddenError("; ".join(forbidden[:_MOST_NAMED]))
        self._keep_alerts(sender, by_subject)
        return Taken(sum(map(len, by_subject.values())), [*forbidden, *ignored])

    def take_reports(self, sender: Sender, body: bytes) -> Taken:
        """Take conditions and adapters' reports, all or none. ForbiddenError if one is of a cluster of others;
        ValueError if one is malformed, or beyond the limits; RepositoryError if they cannot be kept."""
        message, now = read_message(body, "Reports"), self.clock()
        said, texts = dict[Subject, Tree](), dict[FilePath, bytes]()
        for condition in mappings_at(message, "conditions"):
            kind, cluster = BY_NAME[condition.get("kind", MANAGED_CLUSTER.name)], condition["cluster"]
            self._check(sender, kind, cluster)
            said[Subject(kind, cluster, condition["type"])] = condition
        for reported in mappings_at(message, "reports"):
            kind, cluster = TARGETS[reported.get("kind", MANAGED_CLUSTER.name)], reported["cluster"]
            self._check(sender, MANAGED_CLUSTER if kind.namespaced else kind, cluster)
            report = _report(reported, kind, now)
            path = f"{sender.name}/reports/{quote(report['metadata']['name'], safe='')}.yaml"
            texts[cluster, path] = file_text(report).encode()
        paths = {subject: _condition_path(sender, subject, "conditions") for subject in said}

        def make(files: Mapping[FilePath, bytes]) -> Changes:
            made: dict[FilePath, bytes | None] = dict(texts)
            for subject, path in paths.items():
                report = said[subject]
                outcome_there = report["status"], report.get("reason", ""), report.get("message", "")
                made[path] = (
                    None if report["status"] is None else _condition_file(subject, files.get(path), outcome_there, now)
                )
            return {path: text for path, text in made.items() if text is not None or path in files}

        self.files.change(paths.values(), make)
        return Taken(len(texts) + len(said))

    def _keep_alerts(self, sender: Sender, by_subject: Mapping[Subject, Sequence[tuple[AlertRule, Tree]]]) -> None:
        paths = {subject: _condition_path(sender, subject, "alerts") for subject in by_subject}
        now = self.clock()

        def make(files: Mapping[FilePath, bytes]) -> Changes:
            made: dict[FilePath, bytes | None] = {}
            for subject, path in paths.items():
                kept = _alerts_path(path)
                before: Alerts = decode_alerts(files.get(kept))
                after, rule = before, by_subject[subject][0][0]
                for rule, alert in by_subject[subject]:
                    after = with_alert(after, *read_alert(alert, rule))
                if after is not before:
                    made[kept] = encode_alerts(after)
                    made[path] = _condition_file(subject, files.get(path), outcome(after, rule), now)
            return made

        self.files.change([*paths.values(), *map(_alerts_path, paths.values())], make)

    def _check(self, sender: Sender, kind: Kind, cluster: str) -> None:
        if why := self._why_not(sender, kind, cluster):
            raise ForbiddenError(why)

    def _why_not(self, sender: Sender, kind: Kind, cluster: str) -> str:
        """Why a sender may not report on a cluster; empty if it may."""
        if self.signed:
            return "the Fleet asks for signed reports, and collectors sign nothing"
        if cluster not in sender.clusters:
            return f"{sender.name} may not report on {cluster!r}"
        if cluster not in self.mandate:
            return f"the Fleet does not give {cluster} to this relay"
        return "" if self.hub.knows(kind.id(cluster)) else f"the fleet has no {kind.name} {cluster}"


def _condition_path(sender: Sender, subject: Subject, folder: str) -> FilePath:
    return subject.cluster, f"{sender.name}/{folder}/{quote(f'{subject.kind.name}.{subject.type}', safe='')}.yaml"


def _alerts_path(path: FilePath) -> FilePath:
    """The alerts of a condition: a file that no evaluation reads."""
    return path[0], f"{path[1].removesuffix('.yaml')}.alerts"


def _condition_file(subject: Subject, before: bytes | None, said: tuple[str, str, str], now: datetime) -> bytes:
    """Return the part of a cluster with a condition, of which `before` is the present file."""
    status, reason, message = said
    seen, standing = format_time(now.replace(microsecond=0)), read_report(subject, before).condition
    since = dig(standing, "lastTransitionTime") if dig(standing, "status") == status else None
    condition = {
        "type": subject.type,
        "status": status,
        "reason": reason or subject.type.rpartition("/")[2],
        "message": message,
        "lastTransitionTime": since if try_time(since) is not None else seen,
        "lastUpdateTime": seen,
    }
    body = subject.kind.body({"name": subject.cluster}, status={"conditions": [condition]})
    return file_text(body).encode()


def _report(reported: Mapping[str, Tree], kind: Kind, now: datetime) -> Tree:
    """The AdapterReport of a message. ValueError if the fleet's schema refuses it."""
    cluster = reported["cluster"]
    target: ObjectId = kind.id(reported["name"], cluster) if kind.namespaced else kind.id(cluster)
    conditions = [
        ReportCondition(c["type"], c["status"], c.get("reason", ""), c.get("message", ""))
        for c in reported["conditions"]
    ]
    report = report_object(
        target, cluster, reported["adapter"], reported["observed_generation"], now, conditions, reported.get("data")
    )
    check_report(report)
    return report


def read_message(body: bytes, schema: str) -> Tree:
    """Return the message in a body. ValueError if it is not JSON, or not as the schema of the document says."""
    message = read_json(body)
    # Neither half a surrogate pair nor a number beyond all bounds can be written to a file.
    json.dumps(message, ensure_ascii=False, allow_nan=False).encode()
    error = next(iter(_validator(schema).iter_errors(message)), None)
    if error is not None:
        where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
        raise ValueError(f"{where.lstrip('.') or 'the body'}: {error.message[:300]}")
    return message


@cache
def document() -> bytes:
    """Return the OpenAPI document of the relay."""
    return files("muster.agents.relay").joinpath("openapi.json").read_bytes()


@cache
def _validator(schema: str) -> "Validator":
    from jsonschema_rs import validator_for

    components = read_json(document())["components"]
    whole = {"$ref": f"#/components/schemas/{schema}", "components": components}
    return validator_for(whole, validate_formats=True)
