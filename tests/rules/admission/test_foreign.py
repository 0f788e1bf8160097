"""Policies that others wrote, unmodified, over objects of kinds that muster does not know."""

import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pytest

import muster
from muster.data.codes import Severity
from muster.data.finding import Finding

NOW = datetime(2026, 1, 1, tzinfo=UTC)

POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: rule}
spec:
"""
BINDING = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: rule}
spec:
  policyName: rule
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 9
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: docker.io/library/nginx:latest
        securityContext: {privileged: true}
      volumes:
      - name: host
        hostPath: {path: /etc}
"""


def policy(spec: str, binding: str = "validationActions: [Deny]") -> str:
    both = (
        POLICY + textwrap.indent(textwrap.dedent(spec), "  "),
        BINDING + textwrap.indent(textwrap.dedent(binding), "  "),
    )
    return "\n---\n".join(both)


def rule(expression: str, *, groups: str = "apps", resources: str = "deployments", more: str = "") -> str:
    return (
        f"{textwrap.dedent(more)}\n"
        "matchConstraints:\n"
        "  resourceRules:\n"
        f'  - {{apiGroups: ["{groups}"], apiVersions: ["*"], operations: ["*"], resources: ["{resources}"]}}\n'
        "validations:\n"
        f"- expression: {expression!r}\n"
    )


def found(tmp_path: Path, files: dict[str, str]) -> list[Finding]:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return muster.evaluate(tmp_path, NOW).findings


def said(tmp_path: Path, files: dict[str, str], code: str = "MUS320") -> list[str]:
    return [f"{one.object}: {one.message}" for one in found(tmp_path, files) if one.code == code]


def test_a_violation_is_an_error_where_the_field_is(tmp_path: Path) -> None:
    spec = rule("object.spec.replicas <= 5")
    findings = found(tmp_path, {"policy.yaml": policy(spec), "apps/web.yaml": f"# ours\n---\n{DEPLOYMENT}"})
    assert [(one.code, one.severity, one.file, one.line, str(one.object)) for one in findings] == [
        ("MUS320", Severity.ERROR, "apps/web.yaml", 9, "Deployment/default/web")
    ]
    assert findings[0].message == "failed expression: object.spec.replicas <= 5"


def test_what_no_policy_speaks_of_is_ignored_as_ever(tmp_path: Path) -> None:
    spec = rule("object.spec.replicas <= 5", resources="statefulsets")
    findings = found(tmp_path, {"policy.yaml": policy(spec), "web.yaml": DEPLOYMENT})
    assert [one.code for one in findings] == ["MUS102"]


APPLICATION = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\n"
KUSTOMIZATIONS = (
    "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web}\n---\n"
    "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n---\n"
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
)


@pytest.mark.parametrize(
    ("foreign", "reported"),
    [
        ("", ["argoproj.io", "kustomize.toolkit.fluxcd.io", "kustomize.config.k8s.io", ""]),
        ("argoproj.io", ["kustomize.toolkit.fluxcd.io", "kustomize.config.k8s.io", ""]),
        ("argoproj.io, '*.fluxcd.io', kustomize.config.k8s.io, ''", []),
        ("'*.io', fluxcd.io", [""]),
        ("'*.argoproj.io', apps", ["argoproj.io", "kustomize.toolkit.fluxcd.io", "kustomize.config.k8s.io", ""]),
    ],
)
def test_groups_that_the_fleet_calls_foreign_are_not_reported(
    tmp_path: Path, foreign: str, reported: list[str]
) -> None:
    fleet = f"apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: f}}\nspec: {{foreign: [{foreign}]}}\n"
    findings = found(tmp_path, {"a.yaml": APPLICATION, "b.yaml": KUSTOMIZATIONS, "fleet.yaml": fleet})
    assert [one.code for one in findings] == ["MUS102"] * len(reported)
    named = [f"in group {group!r}" if group else "of the core group" for group in reported]
    assert all(f"{group} is known" in one.message for group, one in zip(named, findings, strict=True))
    assert all("Fleet.spec.foreign" in one.hint for one in findings)


def test_a_foreign_group_hides_no_misspelt_kind_of_the_fleet(tmp_path: Path) -> None:
    fleet = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {foreign: ['*.io']}\n"
    typo = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedClustr\nmetadata: {name: a}\nspec: {}\n"
    (finding,) = found(tmp_path, {"a.yaml": typo, "fleet.yaml": fleet})
    assert (finding.code, finding.severity) == ("MUS102", Severity.ERROR)


#: expressions of the usual libraries that the Deployment above breaks, or not
LIBRARY = [
    ("!object.spec.template.spec.containers.exists(c, c.image.endsWith(':latest') || !c.image.contains(':'))", False),
    ("object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example.com/'))", False),
    ("object.spec.template.spec.containers.all(c, c.?securityContext.?privileged.orValue(false) == false)", False),
    ("!has(object.spec.template.spec.volumes) || object.spec.template.spec.volumes.all(v, !has(v.hostPath))", False),
    ("object.spec.template.spec.?hostNetwork.orValue(false) != true", True),
    ("has(object.metadata.labels) && 'owner' in object.metadata.labels", False),
    ("object.metadata.?labels[?'app'].orValue('') == 'web'", True),
    ("object.spec.template.spec.containers.all(c, has(c.resources.limits) && has(c.resources.limits.memory))", False),
    ("object.spec.strategy.type == 'RollingUpdate'", True),  # as an API server fills in
    ("object.spec.template.spec.containers[0].imagePullPolicy == 'Always'", True),
    ("request.resource.resource == 'deployments' && request.kind.kind == 'Deployment'", True),
    ("request.name == 'web' && request.namespace == 'default' && request.operation == 'CREATE'", True),
    ("request.resource.group == 'apps' && request.resource.version == 'v1' && !request.dryRun", True),
    ("oldObject == null", True),
    ("namespaceObject.metadata.name == 'default'", True),
    ("namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == 'default'", True),
    ("object.spec.template.spec.containers.map(c, c.image.split('/')[0]).all(r, r in ['docker.io', 'ghcr.io'])", True),
    ("quantity('1Gi').isLessThan(quantity('2Gi'))", True),
    ("params == null", True),
]


@pytest.mark.parametrize(("expression", "allowed"), LIBRARY)
def test_expressions_of_others(tmp_path: Path, expression: str, allowed: bool) -> None:
    files = {"policy.yaml": policy(rule(expression)), "web.yaml": DEPLOYMENT}
    assert (said(tmp_path, files) == []) is allowed, said(tmp_path, files)


@pytest.mark.parametrize(
    ("groups", "resources", "matches"),
    [
        ("apps", "deployments", True),
        ("*", "*", True),
        ("apps", "*", True),
        ("*", "deployments", True),
        ("apps", "*/*", True),
        ("apps", "deployments/scale", False),
        ("apps", "deployments/*", False),
        ("apps", "*/scale", False),
        ("", "deployments", False),
        ("extensions", "deployments", False),
        ("apps", "Deployment", False),
    ],
)
def test_resources(tmp_path: Path, groups: str, resources: str, matches: bool) -> None:
    files = {"policy.yaml": policy(rule("false", groups=groups, resources=resources)), "web.yaml": DEPLOYMENT}
    # A policy over everything speaks of itself, too.
    assert any(text.startswith("Deployment/default/web") for text in said(tmp_path, files)) is matches


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("NetworkPolicy", "networkpolicies"),
        ("Ingress", "ingresses"),
        ("Endpoints", "endpoints"),
        ("Gateway", "gateways"),
        ("Gateway", "gatewaies"),
        ("Box", "boxes"),
        ("Mesh", "meshes"),
        ("ServiceEntry", "serviceentries"),
        ("Widget", "widgets"),
    ],
)
def test_plurals(tmp_path: Path, kind: str, plural: str) -> None:
    text = f"apiVersion: example.com/v1\nkind: {kind}\nmetadata: {{name: a}}\n"
    files = {"policy.yaml": policy(rule("false", groups="example.com", resources=plural)), "a.yaml": text}
    assert said(tmp_path, files) == [f"{kind}/a: failed expression: false"]


def test_a_definition_says_plural_and_scope(tmp_path: Path) -> None:
    definition = """\
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: oxen.example.com}
    spec:
      group: example.com
      scope: Namespaced
      names: {kind: Ox, plural: oxen, singular: ox}
      versions: [{name: v1, served: true, storage: true}]
    """
    ox = "apiVersion: example.com/v1\nkind: Ox\nmetadata: {name: a}\n"
    spec = rule(
        "request.namespace == 'farm' && request.resource.resource == 'oxen'", groups="example.com", resources="oxen"
    )
    files = {"crd.yaml": textwrap.dedent(definition), "policy.yaml": policy(spec), "ox.yaml": ox}
    assert [text.partition(":")[0] for text in said(tmp_path, files)] == ["Ox/default/a"]
    assert said(tmp_path, {"ox.yaml": ox.replace("{name: a}", "{name: a, namespace: farm}")}) == []


def test_lists_generated_names_and_what_is_no_object(tmp_path: Path) -> None:
    files = {
        "policy.yaml": policy(rule("false", groups="", resources="pods")),
        "list.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n",
        "pods.yaml": "apiVersion: v1\nkind: PodList\nitems:\n- {metadata: {name: b}}\n",
        "made.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {generateName: c-}\n",
        "none.yaml": "apiVersion: v1\nkind: Pod\n",
    }
    assert sorted(said(tmp_path, files)) == [
        f"Pod/default{name}: failed expression: false" for name in ("/a", "/b", "")
    ]


def test_a_base_and_its_overlay_are_two_objects(tmp_path: Path) -> None:
    files = {
        "policy.yaml": policy(rule("object.spec.replicas <= 5")),
        "base/web.yaml": DEPLOYMENT,
        "overlays/prod/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 7}\n",
        "overlays/test/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {}\n",
    }
    assert [one.file for one in found(tmp_path, files) if one.code == "MUS320"] == [
        "base/web.yaml",
        "overlays/prod/web.yaml",
    ]


PARAMS = """\
paramKind: {apiVersion: v1, kind: ConfigMap}
"""
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: limits, namespace: rules, labels: {limit: 'yes'}}
data: {max: '5'}
"""
LIMIT = rule("object.spec.replicas <= int(params.data.max)", more=PARAMS)


@pytest.mark.parametrize(
    ("ref", "files", "messages"),
    [
        ("{name: limits, namespace: rules, parameterNotFoundAction: Deny}", {"map.yaml": MAP}, ["failed expression"]),
        (
            "{selector: {matchLabels: {limit: 'yes'}}, namespace: rules, parameterNotFoundAction: Deny}",
            {"map.yaml": MAP},
            ["failed expression"],
        ),
        (
            "{selector: {matchLabels: {limit: 'no'}}, namespace: rules, parameterNotFoundAction: Allow}",
            {"map.yaml": MAP},
            [],
        ),
        (
            "{name: limits, namespace: rules, parameterNotFoundAction: Deny}",
            {"map.yaml": MAP.replace("'5'", "'9'")},
            [],
        ),
        ("{name: limits, namespace: rules, parameterNotFoundAction: Deny}", {}, ["no object matches spec.paramRef"]),
        ("{name: limits, namespace: rules, parameterNotFoundAction: Allow}", {}, []),
        ("{name: limits, parameterNotFoundAction: Deny}", {"map.yaml": MAP}, ["no object matches spec.paramRef"]),
        (
            "{name: limits, parameterNotFoundAction: Deny}",
            {"map.yaml": MAP.replace("rules", "default")},
            ["failed expression"],
        ),
        (
            "{selector: {}, namespace: rules, parameterNotFoundAction: Deny}",
            {"map.yaml": MAP, "b.yaml": MAP.replace("limits", "more").replace("'5'", "'3'")},
            ["failed expression", "failed expression"],
        ),
    ],
)
def test_params_of_any_kind(tmp_path: Path, ref: str, files: dict[str, str], messages: list[str]) -> None:
    text = policy(LIMIT, f"validationActions: [Deny]\nparamRef: {ref}")
    # The same thing said twice of one object is one finding.
    texts = said(tmp_path, {"policy.yaml": text, "web.yaml": DEPLOYMENT, **files})
    assert len(texts) == len(set(messages))
    for told, message in zip(texts, messages, strict=False):
        assert told.startswith(f"Deployment/default/web: {message}")


def test_missing_params_are_a_failure_and_obey_the_failure_policy(tmp_path: Path) -> None:
    text = policy(
        f"failurePolicy: Ignore\n{LIMIT}",
        "validationActions: [Deny]\nparamRef: {name: a, namespace: b, parameterNotFoundAction: Deny}",
    )
    assert said(tmp_path, {"policy.yaml": text, "web.yaml": DEPLOYMENT}) == []


def test_a_binding_may_name_the_namespace_of_params_whose_kind_nobody_defines(tmp_path: Path) -> None:
    """Without one in its document, an object that has one is in `default`."""
    text = policy(
        rule(
            "object.spec.replicas <= params.maxReplicas",
            more="paramKind: {apiVersion: rules.example.com/v1, kind: ReplicaLimit}",
        ),
        "validationActions: [Deny]\nparamRef: {name: limit, namespace: default, parameterNotFoundAction: Deny}",
    )
    limit = "apiVersion: rules.example.com/v1\nkind: ReplicaLimit\nmetadata: {name: limit}\nmaxReplicas: 30\n"
    files = {"policy.yaml": text, "web.yaml": DEPLOYMENT, "limit.yaml": limit}
    assert said(tmp_path, files) == []
    (missing,) = said(tmp_path, {"policy.yaml": text.replace("namespace: default", "namespace: rules")})
    assert "no object matches spec.paramRef" in missing
    scoped = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: replicalimits.rules.example.com}
spec: {group: rules.example.com, scope: Cluster, names: {kind: ReplicaLimit, plural: replicalimits}}
"""
    (refused,) = said(tmp_path, {"policy.yaml": text, "definition.yaml": scoped})
    assert "names a namespace, and ReplicaLimit has none" in refused


def test_params_of_a_custom_kind(tmp_path: Path) -> None:
    text = policy(
        rule(
            "object.spec.replicas <= params.maxReplicas",
            more="paramKind: {apiVersion: rules.example.com/v1, kind: ReplicaLimit}",
        ),
        "validationActions: [Deny]\nparamRef: {name: 'replica-limit-test.example.com', parameterNotFoundAction: Deny}",
    )
    metadata = "metadata: {name: replica-limit-test.example.com}"
    limit = f"apiVersion: rules.example.com/v1\nkind: ReplicaLimit\n{metadata}\nmaxReplicas: 3\n"
    assert len(said(tmp_path, {"policy.yaml": text, "web.yaml": DEPLOYMENT, "limit.yaml": limit})) == 1
    assert said(tmp_path, {"limit.yaml": limit.replace("3", "30")}) == []
    assert [one.code for one in found(tmp_path, {})] == []


def test_namespaces(tmp_path: Path) -> None:
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod, labels: {environment: production}}\n"
    selected = (
        "validationActions: [Deny]\nmatchResources: {namespaceSelector: {matchLabels: {environment: production}}}"
    )
    inside = DEPLOYMENT.replace("name: web\n  labels", "name: web\n  namespace: prod\n  labels", 1)
    text = policy(rule("namespaceObject.metadata.labels.environment != 'production'"), selected)
    files = {"policy.yaml": text, "web.yaml": DEPLOYMENT, "prod.yaml": inside}
    assert said(tmp_path, files) == []  # nobody says what labels the namespace has
    assert [one.partition(":")[0] for one in said(tmp_path, {"space.yaml": space})] == ["Deployment/prod/web"]
    named = policy(
        rule("false"),
        "validationActions: [Deny]\n"
        "matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: default}}}",
    )
    assert [one.partition(":")[0] for one in said(tmp_path, {"policy.yaml": named})] == ["Deployment/default/web"]


def test_a_namespace_is_selected_by_its_own_labels_and_is_in_none(tmp_path: Path) -> None:
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod, labels: {team: a}}\n"
    spec = rule(
        "namespaceObject != null || has(request.namespace) || !('owner' in object.metadata.labels)",
        groups="",
        resources="namespaces",
    )
    for team, count in (("a", 0), ("b", 0)):
        bound = f"validationActions: [Deny]\nmatchResources: {{namespaceSelector: {{matchLabels: {{team: {team}}}}}}}"
        assert len(said(tmp_path, {"policy.yaml": policy(spec, bound), "prod.yaml": space})) == count
    refusing = rule("namespaceObject != null", groups="", resources="namespaces")
    bound = "validationActions: [Deny]\nmatchResources: {namespaceSelector: {matchLabels: {team: %s}}}"
    assert len(said(tmp_path, {"policy.yaml": policy(refusing, bound % "a")})) == 1
    assert len(said(tmp_path, {"policy.yaml": policy(refusing, bound % "b")})) == 0


def test_conditions_variables_messages_and_actions(tmp_path: Path) -> None:
    spec = """\
    matchConstraints:
      resourceRules:
      - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
    matchConditions:
    - {name: broken, expression: object.spec.nothing == 1}
    - {name: exempt, expression: "!('exempt' in object.metadata.?annotations.orValue({}))"}
    variables:
    - {name: limit, expression: "object.metadata.name == 'web' ? 5 : 10"}
    validations:
    - expression: object.spec.replicas <= variables.limit
      messageExpression: "'at most ' + string(variables.limit)"
    """
    exempt = DEPLOYMENT.replace("  labels:", "  annotations: {exempt: 'yes'}\n  labels:", 1)
    files = {"policy.yaml": policy(spec, "validationActions: [Warn, Audit]"), "web.yaml": exempt}
    assert said(tmp_path, files) == []  # a condition that does not hold counts before one that fails
    assert "matchCondition broken failed" in said(tmp_path, {"web.yaml": DEPLOYMENT})[0]
    sound = spec.replace("- {name: broken, expression: object.spec.nothing == 1}\n", "")
    files["policy.yaml"] = policy(sound, "validationActions: [Warn, Audit]")
    (told,) = (one for one in found(tmp_path, files | {"web.yaml": DEPLOYMENT}) if one.code == "MUS320")
    assert (told.severity, told.message) == (Severity.WARNING, "at most 5")


def test_a_message_that_cannot_be_computed_falls_back_on_the_written_one(tmp_path: Path) -> None:
    spec = rule("false") + "  message: written\n  messageExpression: object.spec.nothing\n"
    assert said(tmp_path, {"policy.yaml": policy(spec), "web.yaml": DEPLOYMENT}) == ["Deployment/default/web: written"]


def test_audit_annotations_are_notes(tmp_path: Path) -> None:
    spec = """\
    matchConstraints:
      resourceRules:
      - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
    auditAnnotations:
    - key: high-replica-count
      valueExpression: "object.spec.replicas > 5 ? 'replicas: ' + string(object.spec.replicas) : ''"
    - {key: quiet, valueExpression: "null"}
    """
    files = {"policy.yaml": policy(spec), "web.yaml": DEPLOYMENT}
    notes = [one for one in found(tmp_path, files) if one.code == "MUS322"]
    assert [(one.severity, one.message) for one in notes] == [(Severity.NOTE, "high-replica-count: replicas: 9")]


def test_an_authorizer_is_asked_for_once(tmp_path: Path) -> None:
    spec = """\
    matchConstraints:
      resourceRules:
      - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
    matchConditions:
    - {name: admins, expression: "!authorizer.group('apps').resource('deployments').check('delete').allowed()"}
    validations:
    - expression: authorizer.requestResource.check('create').allowed()
    - expression: "false"
    """
    files = {"policy.yaml": policy(spec), "a.yaml": DEPLOYMENT, "b.yaml": DEPLOYMENT.replace("web", "b")}
    (told,) = (one for one in found(tmp_path, files) if one.severity is Severity.ERROR)
    assert (told.code, told.file, told.line) == ("MUS323", "policy.yaml", 9)


@pytest.mark.parametrize(
    ("groups", "resources", "hint"),
    [
        ("apps", "depolyments", "did you mean 'deployments'?"),
        ("example.com", "widgets", ""),
        ("", "pods/exec", ""),
        ("apps", "deployments/scale", ""),
    ],
)
def test_a_policy_that_matches_nothing_says_so(tmp_path: Path, groups: str, resources: str, hint: str) -> None:
    files = {"policy.yaml": policy(rule("false", groups=groups, resources=resources))}
    (told,) = found(tmp_path, files)
    assert (told.code, told.severity, told.line) == ("MUS321", Severity.WARNING, 7)
    assert hint in told.hint


@pytest.mark.parametrize(
    ("groups", "resources"),
    [
        ("apps", "deployments"),
        ("", "pods"),
        ("*", "*"),
        ("muster.dev", "nodepools"),
        ("", "namespaces"),
    ],
)
def test_a_policy_over_what_there_could_be_says_nothing(tmp_path: Path, groups: str, resources: str) -> None:
    spec = rule("true", groups=groups, resources=resources)
    assert found(tmp_path, {"policy.yaml": policy(spec)}) == []


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha1"])
def test_policies_of_older_versions(tmp_path: Path, version: str) -> None:
    text = policy(rule("object.spec.replicas <= 5")).replace("io/v1\n", f"io/{version}\n")
    assert len(said(tmp_path, {"policy.yaml": text, "web.yaml": DEPLOYMENT})) == 1


def test_nulls_are_dropped_as_an_api_server_drops_them(tmp_path: Path) -> None:
    spec = rule("!has(object.metadata.creationTimestamp) && !has(object.spec.paused)")
    text = DEPLOYMENT.replace("  name: web\n", "  name: web\n  creationTimestamp: null\n", 1).replace(
        "  replicas: 9", "  replicas: 9\n  paused: null"
    )
    assert said(tmp_path, {"policy.yaml": policy(spec), "web.yaml": text}) == []


MATCH = """\
matchConstraints:
  resourceRules:
  - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
"""


def rules(field: str, *, version: str = "v1", operations: str = "*", more: str = "") -> str:
    return (
        f"{field}: [{{apiGroups: [apps], apiVersions: [{version}], operations: ['{operations}'], "
        f"resources: [deployments]{more}}}]"
    )


_NAME = "kubernetes.io/metadata.name"


@pytest.mark.parametrize(
    ("constraint", "bound", "matches"),
    [
        ("objectSelector: {matchLabels: {app: web}}", "", True),
        ("objectSelector: {matchLabels: {app: db}}", "", False),
        ("objectSelector: {matchExpressions: [{key: owner, operator: DoesNotExist}]}", "", True),
        (rules("excludeResourceRules"), "", False),
        (rules("excludeResourceRules", operations="UPDATE"), "", True),
        (rules("excludeResourceRules", more=", resourceNames: [web]"), "", False),
        (rules("excludeResourceRules", more=", scope: Cluster"), "", True),
        ("matchPolicy: Exact", "", True),
        ("", rules("resourceRules", version="v1beta1"), True),
        ("", f"matchPolicy: Exact, {rules('resourceRules', version='v1beta1')}", False),
        ("", rules("resourceRules", more=", scope: Cluster"), False),
        ("", rules("resourceRules", more=", scope: Namespaced"), True),
        ("", rules("resourceRules", more=", resourceNames: [db]"), False),
        ("", "objectSelector: {matchLabels: {app: db}}", False),
        (
            "",
            f"namespaceSelector: {{matchExpressions: [{{key: {_NAME}, operator: NotIn, values: [kube-system]}}]}}",
            True,
        ),
        (
            "",
            f"namespaceSelector: {{matchExpressions: [{{key: {_NAME}, operator: In, values: [kube-system]}}]}}",
            False,
        ),
    ],
)
def test_what_is_spoken_of(tmp_path: Path, constraint: str, bound: str, matches: bool) -> None:
    spec = f"{MATCH}{textwrap.indent(constraint, '  ')}\nvalidations: [{{expression: 'false'}}]\n"
    binding = f"validationActions: [Deny]\nmatchResources: {{{bound}}}"
    files = {"policy.yaml": policy(spec, binding), "web.yaml": DEPLOYMENT}
    assert bool(said(tmp_path, files)) is matches


def test_hostile_documents_are_judged_and_fault_nothing(tmp_path: Path) -> None:
    """Whatever the metadata of an object looks like, others are judged and nothing is told to a terminal."""
    odd = [
        "metadata: {name: web, labels: [a]}",
        "metadata: {name: web, labels: {app: [1]}, annotations: 3}",
        'metadata: {name: "a\\e[31mb"}',
        "metadata: {name: 7}",
        "metadata: [name]",
        "metadata: {name: web, namespace: 7}",
        "metadata: {name: web}\nspec: 3",
        "metadata: {name: web}\nspec: {template: [], replicas: x}",
        "metadata: {name: web}\nspec: {template: {spec: {containers: [3, {image: 3}, {ports: [x]}], volumes: 3}}}",
    ]
    files = {f"{number}.yaml": f"apiVersion: apps/v1\nkind: Deployment\n{text}\n" for number, text in enumerate(odd)}
    spec = rule("object.spec.replicas <= 5") + "  messageExpression: \"'no: ' + object.metadata.name\"\n"
    findings = found(tmp_path, {"policy.yaml": policy(spec), "web.yaml": DEPLOYMENT, **files})
    assert "web.yaml" in [one.file for one in findings if one.code == "MUS320"]
    assert not [one for one in findings if one.code in ("MUS490", "MUS491")]
    assert not [one for one in findings if "\x1b" in one.message or "\x1b" in str(one.object)]
