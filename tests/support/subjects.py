"""A fleet in which every object matters: what each kind decides holds something back or keeps something up.

Clusters are silent and a budget holds their taints, traffic is blocked, a claim has its cluster, a rollout is between
two stages, a move waits for an opening hour. Losing any one object would change something at `EDITED`.
"""

# ruff: noqa: E501 - documents

from collections.abc import Mapping
from datetime import datetime, timedelta

from tests.support.example import EXAMPLE, NOON
from tests.support.living import cluster, lease, observed

#: When the fleet begins, when it has settled, when the edit is decided, when a silent cluster speaks, and the repair.
BORN = NOON
SETTLED = NOON + timedelta(minutes=6)
EDITED = NOON + timedelta(minutes=6, seconds=30)
HEALED = NOON + timedelta(minutes=7)
REPAIRED = NOON + timedelta(minutes=7, seconds=30)
#: The cluster that falls silent at the edit, and those that are heard of again while something is broken: a budget
#: holds the taint of one, the other has its taint.
FALLS_SILENT, RECOVERS, RETURNS = "m6", "m7", "m9"
#: The cluster whose agent reports through a ref; files on it are written `agents/m5:path`.
SPEAKER = "m5"
REF = f"agents/{SPEAKER}"
_OCM = "cluster.open-cluster-management.io"
_OWN = "apiVersion: muster.dev/v1alpha1\nkind: {}\nmetadata: {{name: {}}}\n"


def renewals(instant: datetime, *names: str) -> dict[str, str]:
    """Leases that clusters renew at an instant."""
    return {
        f"{REF}:lease.yaml" if name == SPEAKER else f"clusters/{name}/lease.yaml": lease(name, instant)
        for name in names
    }


def _clusters() -> dict[str, str]:
    files = dict[str, str]()
    for number in range(1, 10):
        name = f"m{number}"
        text = cluster(name, region="eu" if number % 2 else "us")
        text = text.replace("labels: {", "labels: {env: prod, " + ("zone: a, " if number == 2 else ""))
        files[f"clusters/{name}/cluster.yaml"] = text
        if name not in (SPEAKER, "m1"):
            files[f"clusters/{name}/observed.yaml"] = observed(name)
    return files


_KARMADA = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {{name: {name}}}
spec: {{syncMode: Pull, apiEndpoint: "https://{name}.example.com:6443"}}
"""
_KARMADA_OBSERVED = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {{name: {name}}}
status:
  kubernetesVersion: v1.33.4
  probe: {{readyz: 200}}
  conditions:
  - {{type: ServiceDomainNameResolutionReady, status: "{dns}", reason: Said, message: said, lastTransitionTime: "2026-01-01T11:00:00Z"}}
  - {{type: Drained, status: "{drained}", reason: Said, message: said, lastTransitionTime: "2026-01-01T11:00:00Z"}}
"""
_CSR = (EXAMPLE / "clusters/ap/joining-ap-1/csr.yaml").read_text(encoding="utf-8")
_APPROVED = """\
status:
  conditions:
  - {type: Approved, status: "True", reason: Said, message: said, lastUpdateTime: "2026-01-01T11:59:00Z", lastTransitionTime: "2026-01-01T11:59:00Z"}
"""

#: One object each, by path: those that are broken.
SUBJECTS: Mapping[str, str] = {
    "subjects/managedcluster.yaml": cluster("subject").replace("labels: {", "labels: {env: prod, "),
    "subjects/managedcluster-observed.yaml": observed("m1"),
    "subjects/cluster.yaml": _KARMADA.format(name="k1"),
    "subjects/cluster-observed.yaml": _KARMADA_OBSERVED.format(name="k1", dns="False", drained="True"),
    "subjects/lease.yaml": lease("subject", NOON + timedelta(minutes=4)),
    "subjects/certificatesigningrequest.yaml": _CSR + _APPROVED,
    "subjects/placement.yaml": f"""\
apiVersion: {_OCM}/v1beta1
kind: Placement
metadata: {{name: web, namespace: shop}}
spec:
  clusterSets: [prod]
  numberOfClusters: 3
  predicates:
  - requiredClusterSelector:
      celSelector: {{celExpressions: ["managedCluster.metadata.name != 'm1'"]}}
  prioritizerPolicy:
    mode: Exact
    configurations:
    - scoreCoordinate: {{type: AddOn, addOn: {{resourceName: cost, scoreName: price}}}}
      weight: 1
""",
    "subjects/managedclusterset.yaml": f"""\
apiVersion: {_OCM}/v1beta2
kind: ManagedClusterSet
metadata: {{name: prod}}
spec: {{clusterSelector: {{selectorType: LabelSelector, labelSelector: {{matchLabels: {{env: prod}}}}}}}}
""",
    "subjects/managedclustersetbinding.yaml": f"""\
apiVersion: {_OCM}/v1beta2
kind: ManagedClusterSetBinding
metadata: {{name: prod, namespace: shop}}
spec: {{clusterSet: prod}}
""",
    "subjects/addonplacementscore.yaml": f"""\
apiVersion: {_OCM}/v1alpha1
kind: AddOnPlacementScore
metadata: {{name: load, namespace: m4}}
status:
  scores:
  - {{name: free, value: 100}}
""",
    "subjects/managedclusteraddon.yaml": """\
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: work-manager, namespace: m6}
spec: {installNamespace: agents}
status:
  conditions:
  - {type: Available, status: "True", reason: Said, message: said, lastTransitionTime: "2026-01-01T11:00:00Z"}
""",
    "subjects/manifestwork.yaml": """\
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: base, namespace: m1}
spec:
  workload:
    manifests:
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: base, namespace: default}}
""",
    "subjects/manifestworkreplicaset.yaml": """\
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {name: conf, namespace: shop}
spec:
  manifestWorkTemplate:
    workload:
      manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: conf, namespace: default}}
  placementRefs:
  - name: near
    rolloutStrategy: {type: Progressive, progressive: {maxConcurrency: 1, minSuccessTime: 5m}}
""",
    "subjects/remedy.yaml": """\
apiVersion: remedy.karmada.io/v1alpha1
kind: Remedy
metadata: {name: dns}
spec:
  decisionMatches:
  - expression: "status(conditions, 'ServiceDomainNameResolutionReady') == 'False'"
  actions: [TrafficControl]
""",
    "subjects/multiclusteringress.yaml": """\
apiVersion: networking.karmada.io/v1alpha1
kind: MultiClusterIngress
metadata: {name: shop, namespace: shop}
spec:
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
""",
    "subjects/clustertaintpolicy.yaml": """\
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterTaintPolicy
metadata: {name: drain}
spec:
  targetClusters: {clusterNames: [k2]}
  addOnConditions:
  - {conditionType: Drained, operator: In, statusValues: ["False"]}
  removeOnConditions:
  - {conditionType: Drained, operator: In, statusValues: ["True"]}
  taints:
  - {key: drain, effect: NoSchedule}
""",
    "subjects/resourcebinding.yaml": """\
apiVersion: work.karmada.io/v1alpha2
kind: ResourceBinding
metadata: {name: web-service, namespace: shop}
spec:
  resource: {apiVersion: v1, kind: Service, namespace: shop, name: web}
  clusters:
  - {name: k1}
  - {name: k2}
""",
    "subjects/endpointslice.yaml": """\
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: imported-k1-web-x8k2p
  namespace: shop
  labels: {kubernetes.io/service-name: derived-web}
  annotations: {endpointslice.karmada.io/provision-cluster: k1}
addressType: IPv4
endpoints:
- addresses: [10.0.0.1]
""",
    "subjects/clusterpool.yaml": """\
apiVersion: hive.openshift.io/v1
kind: ClusterPool
metadata: {name: ci, namespace: pools}
spec:
  size: 2
  maxSize: 4
  baseDomain: ci.example.com
  imageSetRef: {name: v4.16}
  platform: {aws: {region: eu-central-1, credentialsSecretRef: {name: aws}}}
  inventory:
  - {name: slot-1}
  - {name: slot-2}
  - {name: slot-3}
  - {name: slot-4}
  claimLifetime: {default: 8h}
""",
    "subjects/clusterclaim.yaml": """\
apiVersion: hive.openshift.io/v1
kind: ClusterClaim
metadata: {name: review, namespace: pools, creationTimestamp: "2026-01-01T11:50:00Z"}
spec: {clusterPoolName: ci}
""",
    "subjects/clusterdeployment.yaml": """\
apiVersion: hive.openshift.io/v1
kind: ClusterDeployment
metadata: {name: ours, namespace: ours}
spec:
  clusterName: ours
  baseDomain: ci.example.com
  installed: true
  platform: {aws: {region: eu-central-1}}
""",
    "subjects/clusterimageset.yaml": """\
apiVersion: hive.openshift.io/v1
kind: ClusterImageSet
metadata: {name: v4.16}
spec: {releaseImage: "quay.io/openshift-release-dev/ocp-release:4.16.1-x86_64"}
""",
    "subjects/clusterdeploymentcustomization.yaml": """\
apiVersion: hive.openshift.io/v1
kind: ClusterDeploymentCustomization
metadata: {name: slot-1, namespace: pools}
spec:
  installConfigPatches:
  - {op: replace, path: /networking/machineNetwork/0/cidr, value: 10.1.0.0/16}
""",
    "subjects/validatingadmissionpolicy.yaml": """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-guests}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [cluster.open-cluster-management.io], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [managedclusters]}
  validations:
  - {expression: "!('guest' in object.metadata.labels)", message: no guests}
""",
    "subjects/validatingadmissionpolicybinding.yaml": """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-guests}
spec: {policyName: no-guests, validationActions: [Deny]}
""",
    "subjects/fleet.yaml": _OWN.format("Fleet", "matrix")
    + """\
spec:
  adapters: {ManagedCluster: [validation]}
  outputs: [placementdecisions.multicluster.x-k8s.io, clusterprofiles.multicluster.x-k8s.io]
  pools: {externalDependencies: [Secret/pools/aws]}
""",
    "subjects/conditionpolicy.yaml": _OWN.format("ConditionPolicy", "european")
    + """\
spec:
  target: {kind: ManagedCluster}
  type: European
  rules:
  - {name: "yes", when: "self.metadata.labels.region == 'eu'", status: "True", reason: Said, message: said}
  - {name: "no", status: "False", reason: Said, message: said}
""",
    "subjects/taintpolicy.yaml": _OWN.format("TaintPolicy", "zone")
    + """\
spec:
  target: {kind: ManagedCluster}
  taints:
  - {key: example.com/zone, effect: NoSelect, when: "has(self.metadata.labels.zone)"}
""",
    "subjects/pulsepolicy.yaml": _OWN.format("PulsePolicy", "tell")
    + """\
spec:
  target: {kind: ManagedCluster}
  rules:
  - {name: old, when: "now - timestamp('2026-01-01T00:00:00Z') > duration('10s')", reason: old}
  event: {type: com.example.tell, source: muster, topic: tell}
""",
    "subjects/notificationpolicy.yaml": _OWN.format("NotificationPolicy", "availability")
    + """\
spec:
  target: {kind: ManagedCluster}
  when: change.sort == 'condition'
  severity: critical
  sinks: [oncall]
""",
    "subjects/drill.yaml": _OWN.format("Drill", "regions")
    + """\
spec:
  lose: {each: region}
  for: 1h
  never:
  - {name: no-cluster, expression: placement.clusters.size() == 0}
""",
    "subjects/disruptionbudget.yaml": _OWN.format("DisruptionBudget", "default")
    + """\
spec: {selector: {matchLabels: {env: prod}}, maxDisrupted: 2, ignoreUpTo: 0, cooldown: 10m}
""",
    "subjects/disruptionbudget-second.yaml": _OWN.format("DisruptionBudget", "second")
    + """\
spec: {selector: {matchLabels: {zone: b}}, maxDisrupted: 0, ignoreUpTo: 0, cooldown: 10m, minAvailableBackends: 1}
""",
    "subjects/adapterreport.yaml": """\
apiVersion: muster.dev/v1alpha1
kind: AdapterReport
metadata: {name: validation, namespace: m1}
spec:
  resource: {kind: ManagedCluster, name: m1}
  adapter: validation
  observed_generation: 1
  observed_time: "2026-01-01T12:00:00Z"
  conditions:
  - {type: Applied, status: "True"}
  - {type: Available, status: "True"}
  - {type: Health, status: "True"}
""",
    "subjects/nodepool.yaml": """\
apiVersion: muster.dev/v1alpha1
kind: NodePool
metadata: {name: workers, namespace: m1}
spec: {clusterName: m1, replicas: 3}
""",
    "subjects/policytest.yaml": _OWN.format("PolicyTest", "european")
    + """\
spec:
  policies: [ConditionPolicy/european]
  given:
    objects:
    - {apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: a, labels: {region: eu}}, spec: {hubAcceptsClient: true}}
  cases:
  - name: europe
    steps:
    - {at: "2026-01-01T00:00:00Z", expect: [{object: ManagedCluster/a, conditions: [{type: European, status: "True"}]}]}
""",
    "subjects/waiver.yaml": _OWN.format("Waiver", "later")
    + """\
spec:
  code: MUS222
  object: ManagedCluster/m1
  findings:
  - {digest: 6812be4f6e7e4b95, message: "muster.dev/allow-disruption has no effect: 'soon'"}
  reason: the vendor mends it
  owner: sre@example.com
  until: "2026-03-01"
""",
    "subjects/approval.yaml": _OWN.format("Approval", "deletions")
    + """\
spec:
  effects:
  - {object: ClusterDeployment/ci-1/ci-1, effect: deletion, since: "2026-01-01T12:00:00Z"}
""",
    "subjects/rollout.yaml": """\
apiVersion: muster.dev/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop}
spec:
  placementRef: {name: web}
  revision: v2
  gate:
  - {name: runs, expression: "has(self.status.version) && self.status.version.kubernetes == 'v2'", onFalse: Wait}
  stages:
  - {name: first, maxConcurrency: 1}
  - {name: rest, windows: [hours]}
""",
    "subjects/projection.yaml": _OWN.format("Projection", "flux")
    + """\
spec:
  forEach: {placement: shop/web}
  path: cluster.metadata.name + '/web.yaml'
  object: "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': cluster.metadata.name}}"
""",
    "subjects/calendar.yaml": _OWN.format("Calendar", "hours")
    + """\
spec:
  timeZone: UTC
  windows:
  - {days: Mon-Fri, from: "02:00", to: "06:00"}
""",
    "subjects/scorepolicy.yaml": _OWN.format("ScorePolicy", "cost")
    + """\
spec:
  target: {kind: ManagedCluster}
  resource: cost
  score: price
  expression: "self.metadata.labels.region == 'eu' ? 80 : 20"
""",
    "subjects/placementdecision.yaml": f"""\
apiVersion: {_OCM}/v1beta1
kind: PlacementDecision
metadata: {{name: theirs, namespace: shop, labels: {{{_OCM}/placement: theirs}}}}
status:
  decisions:
  - {{clusterName: m1, reason: ""}}
""",
    "subjects/placementdecision.multicluster.x-k8s.io.yaml": """\
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: PlacementDecision
metadata: {name: theirs, namespace: shop, labels: {multicluster.x-k8s.io/decision-key: theirs}}
decisions:
- {clusterProfileRef: {name: m1, namespace: shop}, reason: ""}
schedulerName: theirs
""",
    "subjects/clusterprofile.yaml": """\
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata: {name: theirs, namespace: shop}
spec: {displayName: theirs, clusterManager: {name: theirs}}
""",
}

_SAID = (
    'conditions: [{type: %s, status: "True", reason: Said, message: said, lastTransitionTime: "2026-01-01T11:00:00Z"}]'
)
_WORK = SUBJECTS["subjects/manifestwork.yaml"].replace("namespace: m1", f"namespace: {SPEAKER}")
_ADD_ON = SUBJECTS["subjects/managedclusteraddon.yaml"].replace("namespace: m6", f"namespace: {SPEAKER}")
_OWN_CSR = _CSR.replace("joining-ap-1", SPEAKER)

#: What the agent reports, by path: files that are broken on its ref.
REPORTS: Mapping[str, str] = {
    f"{REF}:sent/managedcluster.yaml": observed(SPEAKER),
    f"{REF}:sent/certificatesigningrequest.yaml": _OWN_CSR,
    f"{REF}:sent/addonplacementscore.yaml": SUBJECTS["subjects/addonplacementscore.yaml"]
    .replace("namespace: m4", f"namespace: {SPEAKER}")
    .replace("100", "90"),
    f"{REF}:sent/managedclusteraddon.yaml": _ADD_ON.replace("spec: {installNamespace: agents}\n", ""),
    f"{REF}:sent/manifestwork.yaml": _WORK.partition("spec:")[0] + f"status:\n  {_SAID % 'Applied'}\n",
    f"{REF}:sent/adapterreport.yaml": SUBJECTS["subjects/adapterreport.yaml"].replace("m1", SPEAKER),
}

_NEAR = f"""\
apiVersion: {_OCM}/v1beta1
kind: Placement
metadata: {{name: near, namespace: shop}}
spec:
  clusterSets: [prod]
  numberOfClusters: 2
  prioritizerPolicy:
    mode: Exact
    configurations:
    - scoreCoordinate: {{type: AddOn, addOn: {{resourceName: load, scoreName: free}}}}
      weight: 1
"""
_CLOSED = (
    _OWN.format("TaintPolicy", "closed")
    + """\
spec:
  target: {kind: ManagedCluster, selector: {matchLabels: {zone: b}}}
  taints:
  - {key: example.com/closed, effect: NoSelect, when: "calendar('hours')"}
"""
)
_SLOT = """\
apiVersion: hive.openshift.io/v1
kind: ClusterDeploymentCustomization
metadata: {{name: slot-{number}, namespace: pools}}
spec:
  installConfigPatches:
  - {{op: replace, path: /networking/machineNetwork/0/cidr, value: 10.{number}.0.0/16}}
"""

#: What surrounds the subjects at the beginning.
SURROUNDINGS: Mapping[str, str] = {
    **_clusters(),
    "clusters/m5/addon.yaml": _ADD_ON.partition("status:")[0],
    "clusters/m5/work.yaml": _WORK,
    "clusters/m5/approved.yaml": _OWN_CSR.partition("  labels:")[0].partition("\napi")[2].join(("api", _APPROVED)),
    **renewals(NOON, *(f"m{number}" for number in range(1, 9))),
    **renewals(NOON - timedelta(seconds=270), RETURNS),
    "clusters/k2/cluster.yaml": _KARMADA.format(name="k2"),
    "clusters/k2/observed.yaml": _KARMADA_OBSERVED.format(name="k2", dns="True", drained="False"),
    "clusters/subject/observed.yaml": observed("subject"),
    "clusters/guest/cluster.yaml": cluster("guest").replace("labels: {", "labels: {guest: yes-it-is, "),
    "clusters/joining-ap-1/cluster.yaml": cluster("joining-ap-1", accepted=False),
    "placements/near.yaml": _NEAR,
    "policies/closed.yaml": _CLOSED,
    **{f"pools/slot-{number}.yaml": _SLOT.format(number=number) for number in (2, 3, 4)},
}

#: What agents say in the commit that breaks something: a cluster is drained, so its taint may go.
NEWS: Mapping[str, str] = {
    "clusters/k2/observed.yaml": _KARMADA_OBSERVED.format(name="k2", dns="True", drained="True"),
    "clusters/k2/lease.yaml": lease("k2", EDITED),
}
