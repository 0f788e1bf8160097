"""One morning of the example's pool: what people and the provisioner commit, minute by minute.

A cluster is claimed and released, another one's claim runs out, and one never wakes up and is replaced. The last
version of every file is what the example fleet holds; `python -m tests.support.pool_story` writes it there.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from muster.data.times import parse_time

EXAMPLE = Path(__file__).resolve().parents[2] / "fleet-repo-example"
DAY = "2026-01-01"
#: Everything of the example that belongs to the story.
FOLDER = "pools/"

_POOL = """\
# Four clusters for whoever needs one for a day: one runs, the others stand by. One that does not wake up within
# 20 minutes is replaced.
apiVersion: hive.openshift.io/v1
kind: ClusterPool
metadata:
  name: ci
  namespace: pools
spec:
  size: 4
  runningCount: 1
  maxConcurrent: 4
  maxSize: 10
  baseDomain: ci.example.com
  imageSetRef:
    name: openshift-v4.16
  platform:
    aws:
      region: eu-central-1
      credentialsSecretRef:
        name: aws-credentials
  powerstateTransitionToRunningTimeout: 20m
  claimLifetime:
    default: 8h
    maximum: 24h
"""
_IMAGES = """\
apiVersion: hive.openshift.io/v1
kind: ClusterImageSet
metadata:
  name: openshift-v4.16
spec:
  releaseImage: quay.io/openshift-release-dev/ocp-release:4.16.1-x86_64
"""
_REASONS = {
    "Running": ("ResumingOrRunning", "Running"),
    "Hibernating": ("Hibernating", "StoppingOrHibernating"),
    "Stopping": ("Stopping", "StoppingOrHibernating"),
    "WaitingForNodes": ("ResumingOrRunning", "WaitingForNodes"),
}


def at(clock: str) -> datetime:
    """The instant of `HH:MM` on the day of the story."""
    return parse_time(f"{DAY}T{clock}:00Z")


def _report(number: int, power: str, since: str, ready_since: str = "") -> tuple[str, str]:
    hibernating, ready = _REASONS[power]
    moment, other = f"{DAY}T{since}:00Z", f"{DAY}T{ready_since or since}:00Z"
    return f"{FOLDER}ci/ci-{number}/observed.yaml", (
        "apiVersion: hive.openshift.io/v1\nkind: ClusterDeployment\n"
        f"metadata:\n  name: ci-{number}\n  namespace: ci-{number}\n"
        f"spec:\n  installed: true\nstatus:\n  powerState: {power}\n  conditions:\n"
        f'  - type: Hibernating\n    status: "{power == "Hibernating"}"\n    reason: {hibernating}\n'
        f'    lastTransitionTime: "{moment}"\n'
        f'  - type: Ready\n    status: "{power == "Running"}"\n    reason: {ready}\n    lastTransitionTime: "{other}"\n'
    )


def _claim(name: str, clock: str, *lines: str) -> tuple[str, str]:
    further = "".join(f"  {line}\n" for line in lines)
    return f"{FOLDER}claims/{name}.yaml", (
        "apiVersion: hive.openshift.io/v1\nkind: ClusterClaim\n"
        f'metadata:\n  name: {name}\n  namespace: pools\n  creationTimestamp: "{DAY}T{clock}:00Z"\n'
        f"spec:\n  clusterPoolName: ci\n{further}"
    )


def story() -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield each commit: when it was made, and its files; None removes one."""
    yield "06:00", {f"{FOLDER}ci/pool.yaml": _POOL, f"{FOLDER}images.yaml": _IMAGES}
    yield "06:40", dict([_report(1, "Running", "06:40"), *(_report(n, "Hibernating", "06:45") for n in (2, 3, 4))])
    yield "08:00", dict([_claim("review-41", "08:00", "subjects:", "- {kind: Group, name: reviewers}")])
    yield "08:06", dict([_report(2, "Running", "08:01", "08:06")])
    yield "08:40", dict([_report(5, "Hibernating", "08:40")])
    yield "09:00", dict([_claim("nightly", "09:00", "lifetime: 2h")])
    yield "09:01", dict([_report(3, "WaitingForNodes", "09:01", "06:45")])
    yield "09:25", dict([_report(4, "Running", "09:22", "09:25")])
    yield "09:35", {_report(3, "Running", "09:01")[0]: None}
    yield "09:45", dict([_report(6, "Hibernating", "09:45"), _report(7, "Hibernating", "09:45")])
    yield "11:50", dict([_claim("review-42", "11:50")])
    yield "11:51", dict([_report(5, "WaitingForNodes", "11:51", "08:40")])
    yield "11:55", dict([_claim("review-43", "11:55")])


def last_files() -> dict[str, str]:
    """What the story leaves in the repository."""
    files: dict[str, str | None] = {}
    for _, changed in story():
        files.update(changed)
    return {path: text for path, text in files.items() if text is not None}


if __name__ == "__main__":
    for path, text in last_files().items():
        target = EXAMPLE / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
