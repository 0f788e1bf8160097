"""Loading, locating, emitting and editing against PyYAML's C classes. Prints ratios: times move with the machine.

python benchmarks/yamlio.py [rounds]
"""

import sys
import time
from collections.abc import Callable
from statistics import median

import yaml
from yaml._yaml import CParser

from muster.data.yaml.edit import set_value
from muster.data.yaml.emitter import emit
from muster.data.yaml.loader import load_documents
from muster.data.yaml.positions import locate

CALLS = 100
FILE = b"""\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: prod-eu-1
  labels:
    region: eu-west-1
    environment: production
    cloud: Amazon
  annotations:
    owner: "platform team"
spec:
  hubAcceptsClient: true
  leaseDurationSeconds: 60
  managedClusterClientConfigs:
  - url: https://api.prod-eu-1.example.com:6443
    caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t
  taints:
  - key: dedicated
    value: payments
    effect: NoSelect
    timeAdded: "2026-01-01T00:00:00Z"
status:
  version:
    kubernetes: v1.29.4
  conditions:
  - type: HubAcceptedManagedCluster
    status: "True"
    reason: HubClusterAdminAccepted
    message: Accepted by the hub.
    lastTransitionTime: "2026-01-01T00:00:00Z"
"""


def events() -> None:
    """Read libyaml's events and nothing more: the floor."""
    get = CParser(FILE).get_event
    while get().__class__ is not yaml.StreamEndEvent:
        pass


def main() -> None:
    """Measure, print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    (document,) = load_documents(FILE, "cluster.yaml").documents
    text = FILE.decode()
    field = ("status", "conditions", 0, "status")
    print(f"a file of {len(FILE)} bytes, medians of {rounds} rounds of {CALLS} calls, in processor time")
    compare(
        "read, against CSafeLoader",
        rounds,
        {
            "CSafeLoader": lambda: yaml.load(FILE, yaml.CSafeLoader),
            "events only": events,
            "load_documents": lambda: load_documents(FILE, "cluster.yaml"),
            "locate": lambda: locate(FILE, 0, field),
            "set_value": lambda: set_value(text, 0, field, "False"),
        },
    )
    compare(
        "write, against CSafeDumper",
        rounds,
        {
            "CSafeDumper": lambda: yaml.dump(document.body, Dumper=yaml.CSafeDumper, sort_keys=False),
            "emit": lambda: emit(document.body),
        },
    )


def compare(title: str, rounds: int, cases: dict[str, Callable[[], object]]) -> None:
    """Measure the cases in turn, so that the machine's moods meet them alike; the first is the yardstick."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            start = time.thread_time()
            for _ in range(CALLS):
                case()
            times[name].append((time.thread_time() - start) / CALLS * 1e6)
    print(title)
    yardstick = median(next(iter(times.values())))
    for name, measured in times.items():
        print(f"  {name:<16}{median(measured):8.1f} us{median(measured) / yardstick:8.2f}")


if __name__ == "__main__":
    main()
