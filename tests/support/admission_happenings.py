"""Happenings of admission policies that read more than the objects that they judge: parameters, namespaces, definitions
of kinds, and objects of unknown kinds. Each of these is edited, renamed, moved, broken, doubled and removed.
"""

# ruff: noqa: E501 - expressions

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Self

import yaml

from muster.data.tree import Tree
from tests.support.editing import Editing
from tests.support.git import Content
from tests.support.living import Living

_ADMISSION, _OCM = "admissionregistration.k8s.io/v1", "cluster.open-cluster-management.io"
#: What a policy may say of an object and its parameters, whatever kinds they have.
_RULES = (
    "params == null || !has(dyn(params).data) || !('refused' in dyn(params).data) || object.metadata.name != dyn(params).data.refused",
    "params == null || !has(dyn(params).data) || !('region' in dyn(params).data) || !has(object.metadata.labels) || !('region' in object.metadata.labels) || object.metadata.labels.region != dyn(params).data.region",
    "params == null || !has(params.metadata.labels) || !('bad' in params.metadata.labels)",
    "namespaceObject == null || !('closed' in namespaceObject.metadata.labels)",
    "!has(dyn(object).spec) || !has(dyn(object).spec.replicas) || dyn(object).spec.replicas < 3",
)
#: Groups and resources that a policy matches.
_MATCHED = (
    (_OCM, "managedclusters"),
    (_OCM, "managedclusters"),
    (_OCM, "managedclusters"),
    (_OCM, "placements"),
    ("coordination.k8s.io", "leases"),
    ("*", "*"),
    ("apps", "deployments"),
    ("example.com", "*"),
)
#: Versions and kinds of parameters.
_PARAMS = (
    ("v1", "ConfigMap"),
    ("v1", "ConfigMap"),
    ("v1", "ConfigMap"),
    ("example.com/v1", "Limits"),
    ("example.com/v1", "Limits"),
    (f"{_OCM}/v1beta2", "ManagedClusterSetBinding"),
    (f"{_OCM}/v1beta1", "Placement"),
)
_FILES = ("params/a.yaml", "params/b.yaml", "params/c:d.yaml")


def _text(*bodies: Tree) -> str:
    return str(yaml.safe_dump_all(bodies, sort_keys=False))


def _body(version: str, kind: str, metadata: Tree, **more: Tree) -> Tree:
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


# -- policies


def a_reading_policy(living: Living) -> str:
    """A policy comes that reads other objects, or becomes another, or goes."""
    chance = living.chance
    name = chance.choice(("reading", "reading", "other"))
    path = f"policies/{name}.yaml"
    if (living.repo.path / path).exists() and chance.random() < 0.2:
        return living.puts({path: None}, f"no more {path}")
    group, resource = chance.choice(_MATCHED)
    operations = ["CREATE", "UPDATE"] if chance.random() < 0.9 else ["*"]
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": operations, "resources": [resource]}
    spec: Tree = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression} for expression in chance.sample(_RULES, 2)],
        "failurePolicy": chance.choice(("Fail", "Ignore")),
    }
    binding: Tree = {"policyName": name, "validationActions": [chance.choice(("Deny", "Deny", "Warn"))]}
    if chance.random() < 0.75:
        version, kind = chance.choice(_PARAMS) if chance.random() < 0.95 else (f"{_OCM}/v1", "ManagedCluster")
        spec["paramKind"] = {"apiVersion": version, "kind": kind}
        binding["paramRef"] = _reference(living)
    selecting = {"namespaceSelector": {"matchLabels": {"team": chance.choice("ab")}}}
    if chance.random() < 0.25:
        chance.choice((spec["matchConstraints"], binding.setdefault("matchResources", {}))).update(selecting)
    bodies = [
        _body(_ADMISSION, "ValidatingAdmissionPolicy", {"name": name}, spec=spec),
        _body(_ADMISSION, "ValidatingAdmissionPolicyBinding", {"name": name}, spec=binding),
    ]
    if chance.random() < 0.1:
        bodies.append(_parameter(living))
    return living.puts({path: _text(*bodies)}, f"{path}: {bodies}")


def _reference(living: Living) -> Tree:
    chance = living.chance
    named: Tree = (
        {"name": chance.choice(("limits", "limits", "other", "eu"))}
        if chance.random() < 0.6
        else {"selector": chance.choice(({"matchLabels": {"use": "limits"}}, {}))}
    )
    namespace = {"namespace": chance.choice(("apps", "apps", "default"))} if chance.random() < 0.7 else {}
    return {**named, **namespace, "parameterNotFoundAction": chance.choice(("Allow", "Allow", "Allow", "Deny"))}


# -- what they read


def _parameter(living: Living) -> Tree:
    chance = living.chance
    version, kind = chance.choice(_PARAMS[:5])
    metadata: Tree = {"name": chance.choice(("limits", "limits", "other"))}
    if chance.random() < 0.7:
        metadata["namespace"] = chance.choice(("apps", "apps", "default", living.chance.choice(living.names)))
    if chance.random() < 0.5:
        metadata["labels"] = {chance.choice(("use", "bad")): "limits"}
    data: Tree = {"refused": chance.choice((*living.names[:3], "x")), "region": chance.choice(("ap", "us", "x", "x"))}
    return _body(version, kind, metadata, data={key: data[key] for key in chance.sample(sorted(data), 1)})


def a_parameter(living: Living) -> str:
    """A file with parameters comes or becomes another: several of one name, a List, unreadable, in a cluster's file."""
    chance = living.chance
    path = chance.choice(_FILES)
    bodies = [_parameter(living) for _ in range(chance.choice((1, 1, 2)))]
    if chance.random() < 0.15:
        bodies = [{"apiVersion": "v1", "kind": "List", "items": bodies}]
    text = _text(*bodies)
    fate = chance.random()
    if fate < 0.1:
        living.ahead.append(partial(living.puts, {path: text}, f"{path} is mended"))
        text += "---\nkind: ConfigMap\n  x: [\n"
    elif fate < 0.2:
        file = living.repo.path / (path := living._path(chance.choice(living.names)))
        text = f"{file.read_text(errors='replace')}---\n{text}" if file.exists() else text
    return living.puts({path: text}, f"{path}: {text}")


def a_parameter_goes(living: Living) -> str:
    """A file with what policies read goes, or moves."""
    chance = living.chance
    there = [path for path in (*_FILES, *_MANIFESTS, "kind.yaml") if (living.repo.path / path).exists()]
    if not there:
        return living.nothing()
    path = chance.choice(there)
    moved: dict[str, Content] = {path: None}
    if chance.random() < 0.5:
        moved[chance.choice((*_FILES, *_MANIFESTS))] = (living.repo.path / path).read_text(errors="replace")
    return living.puts(moved, f"{path} goes: {moved}")


def a_namespace(living: Living) -> str:
    """The namespace of a cluster or of placements has other labels, or its file is not about it any more."""
    chance = living.chance
    name = chance.choice(("apps", *living.names[:2]))
    labels: Tree = {"team": chance.choice("ab")}
    if chance.random() < 0.3:
        labels["closed"] = "yes"
    return living.puts(
        {
            f"manifests/namespace-{chance.choice('ab')}.yaml": _text(
                _body("v1", "Namespace", {"name": name, "labels": labels})
            )
        },
        f"namespace {name} with {labels}",
    )


def a_definition(living: Living) -> str:
    """The kind of a parameter is defined, with or without namespaces."""
    chance = living.chance
    names = {"kind": "Limits", "plural": "limits"}
    spec = {"group": "example.com", "names": names, "scope": chance.choice(("Cluster", "Namespaced"))}
    body = _body("apiextensions.k8s.io/v1", "CustomResourceDefinition", {"name": "limits.example.com"}, spec=spec)
    return living.puts({"kind.yaml": _text(body)}, f"a definition: {spec}")


# -- objects of unknown kinds

_MANIFESTS = ("manifests/one.yaml", "manifests/two.yaml", "manifests/namespace-a.yaml", "manifests/namespace-b.yaml")


def a_manifest(living: Living) -> str:
    """Another program's object comes or becomes another, by itself or in a cluster's file."""
    chance = living.chance
    metadata = {"name": chance.choice(("web", "api")), "namespace": chance.choice(("apps", "shop"))}
    bodies = [
        _body("apps/v1", "Deployment", metadata, spec={"replicas": chance.choice((1, 3))})
        for _ in range(chance.choice((1, 1, 2)))
    ]
    if chance.random() < 0.2:
        bodies.append(_body("example.com/v1", "Widget", {"name": "w"}, spec={"replicas": 3}))
    path, text = chance.choice(_MANIFESTS[:2]), _text(*bodies)
    if chance.random() < 0.15:
        file = living.repo.path / (path := living._path(chance.choice(living.names)))
        text = f"{file.read_text(errors='replace')}---\n{text}" if file.exists() else text
    return living.puts({path: text}, f"{path}: {bodies}")


#: All of them, as often as they happen among the others.
OF_ADMISSION: tuple[Callable[[Living], str], ...] = (
    *(a_reading_policy,) * 8,
    *(a_parameter,) * 10,
    *(a_parameter_goes,) * 5,
    *(a_namespace,) * 5,
    *(a_definition,) * 2,
    *(a_manifest,) * 6,
)


class Reading(Living):
    """The life of a fleet whose policies read other objects, and in which little else happens."""

    @classmethod
    def small(cls, folder: Path, seed: int, count: int = 6) -> Self:
        """The same fleet as any, with such a policy."""
        made = super().small(folder, seed, count)
        a_reading_policy(made)
        return made

    def step(self) -> str:
        if self.ahead and self.chance.random() < 0.8:
            return self.ahead.pop(0)()
        if self.chance.random() < 0.45:
            return self.chance.choice(OF_ADMISSION)(self)
        return self.chance.choice((*self.calm(), self.heartbeats, self.nothing, self.a_placement))()


class EditingReads(Editing):
    """The life of a work tree of such a fleet."""

    @classmethod
    def small(cls, folder: Path, seed: int, count: int = 6) -> Self:
        """The same fleet as any, with such a policy."""
        made = super().small(folder, seed, count)
        a_reading_policy(made)
        made.repo.git("add", "--all")
        made.repo.git("commit", "--quiet", "--message", "x")
        return made

    def step(self) -> str:
        self.ahead = []  # what is mended later may have been thrown away
        if self.chance.random() < 0.45:
            return self.chance.choice(OF_ADMISSION)(self)
        return super().step()

    def commit_or_not(self) -> None:
        """Commit what is there more often: beside what policies read, everything is checked."""
        if self.chance.random() < 0.5:
            self.repo.git("add", "--all")
            self.repo.git("commit", "--quiet", "--allow-empty", "--message", "x")
        super().commit_or_not()
