"""Moving in and out again: nothing of an object is lost, and nothing of it stands twice."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

import muster
from muster.data.codes import Code
from muster.data.kinds import ALL, BY_GROUP_KIND, KARMADA_CLUSTER, LEASE, Kind, kind_of
from muster.data.source import SourceFile
from muster.data.tree import Tree
from muster.data.yaml.emitter import emit
from muster.data.yaml.loader import load_documents
from muster.features.importing.dump import Dump, read_dump
from muster.features.importing.movein import MoveIn, move_in
from muster.fleet.assemble import assemble
from muster.fleet.merge import merge, overlay
from muster.git.directory import DirectorySnapshot
from tests.schemas.test_upstream import LISTS
from tests.support.filled import filled

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
#: What an API server keeps about an object, and no repository.
OF_THE_SERVER = {
    "managedFields": [{"manager": "kubectl", "operation": "Update", "time": "2025-06-01T08:00:00Z"}],
    "resourceVersion": "4711",
    "selfLink": "/apis/x",
    "uid": "0b1c",
}
LAST_APPLIED = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
#: What is said of an object whatever its kind.
SAID = {
    "annotations": {"example.com/owner": "web"},
    "creationTimestamp": "2025-06-01T08:00:00Z",
    "finalizers": ["example.com/wait"],
    "labels": {"region": "eu"},
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "0b1d"}],
}


def dump_of(*bodies: Tree) -> Dump:
    """A dump that holds these objects."""
    text = emit({"apiVersion": "v1", "kind": "List", "items": list(bodies)}).encode()
    return read_dump([SourceFile("dump.yaml", "", lambda: text)])


def moved(dump: Dump, root: Path) -> MoveIn:
    """What moves into an empty repository."""
    return move_in(assemble(DirectorySnapshot(root, {})), dump, lambda _path: "")


def kind_of_body(body: Tree) -> Kind:
    """The kind of an object."""
    return BY_GROUP_KIND[body["apiVersion"].rpartition("/")[0], body["kind"]]


EXAMPLES: list[Tree] = yaml.safe_load((Path(__file__).parents[2] / "schemas/examples.yaml").read_text(encoding="utf-8"))
#: The kinds that an import takes over.
MOVED = [name for name in LISTS if not kind_of_body(filled(name)).commands]


def served(name: str) -> Tree:
    """An object with every field of a list, as an API server would serve it."""
    body = filled(name)
    kind = kind_of_body(body)
    if kind is LEASE:
        body["metadata"]["labels"] = {"open-cluster-management.io/cluster-name": "example"}
    if kind is KARMADA_CLUSTER:
        body["spec"].pop("proxyHeader", None)
    if platforms := body.get("spec", {}).get("platform"):  # an object is of one
        body["spec"]["platform"] = dict([next(iter(platforms.items()))])
    metadata = {**SAID, **body["metadata"]}
    metadata["labels"] = {**SAID["labels"], "open-cluster-management.io/cluster-name": "example"}  # type: ignore[dict-item]
    metadata["annotations"] = {**SAID["annotations"], "endpointslice.karmada.io/provision-cluster": "example"}  # type: ignore[dict-item]
    body["metadata"] = {**metadata, **({"generation": 3} if kind.counted else {})}
    return body


@pytest.mark.parametrize("kind", [kind for kind in ALL if kind.commands], ids=lambda kind: kind.label)
@pytest.mark.parametrize("replacing", [False, True])
def test_what_commands_muster_is_proposed(kind: Kind, tmp_path: Path, *, replacing: bool) -> None:
    (body, *_) = (one for one in EXAMPLES if kind_of_body(one) is kind)
    done = move_in(assemble(DirectorySnapshot(tmp_path, {})), dump_of(body), lambda _path: "", replacing=replacing)
    assert [id_.kind for id_ in done.proposed] == [kind.name]
    assert [path for path in done.created if not path.endswith(".proposed")] == []
    assert [one.code for one in done.findings] == [Code.IMPORTED_COMMAND]
    assert not done.imported


@pytest.mark.parametrize("name", MOVED)
def test_the_parts_of_an_object_are_the_object(name: str, tmp_path: Path) -> None:
    body = served(name)
    kind = kind_of_body(body)
    raw = {**body, "metadata": {**body["metadata"], **OF_THE_SERVER}}
    raw["metadata"]["annotations"] = {**body["metadata"]["annotations"], **LAST_APPLIED}
    if kind.name == "Placement":
        body["metadata"]["uid"] = OF_THE_SERVER["uid"]
    dump = dump_of(raw)
    done = moved(dump, tmp_path)
    assert dump.findings + done.findings == []
    assert len(done.imported) == 1
    inputs: Tree = None
    derived: Tree = None
    conflicts: list[object] = []
    for path, text in sorted(done.created.items()):
        (document,) = load_documents(text.encode(), path).documents
        if path.startswith("derived/"):
            derived = document.body
        else:
            inputs = document.body if inputs is None else merge(inputs, document.body, kind.list_keys, conflicts)  # type: ignore[arg-type]
    assert conflicts == []
    whole = inputs if derived is None else derived if inputs is None else overlay(inputs, derived, kind.list_keys)
    whole.setdefault("status", {}).pop("muster", None)
    body.setdefault("status", {})
    assert in_any_order({**whole, "apiVersion": body["apiVersion"]}) == in_any_order(body)


def in_any_order(tree: Tree) -> Tree:
    """A tree in which the order of lists does not count: keyed ones are put in order where they are derived."""
    if isinstance(tree, dict):
        return {name: in_any_order(value) for name, value in tree.items()}
    if isinstance(tree, list):
        return sorted((in_any_order(value) for value in tree), key=repr)
    return tree


def test_all_of_it_comes_out_again(tmp_path: Path) -> None:
    """Every kind at once: all is rendered again but what the hub had decided, and what muster decides."""
    newest = {kind_of_body(filled(name)): name for name in MOVED}
    dump = dump_of(*(served(name) for name in newest.values()))
    done = moved(dump, tmp_path)
    for path, text in done.created.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    run = muster.evaluate(tmp_path, NOON)
    bodies = {(kind_of_body(body), body["metadata"]["name"]): body for body in run.objects}
    derived: set[tuple[Kind, tuple[str, ...]]] = {
        (kind_of_body(document.body), field)
        for file, text in done.created.items()
        if file.startswith("derived/")
        for document in load_documents(text.encode(), file).documents
        for field, _ in leaves(document.body)
        if field[0] != "metadata"
    }
    lost = []
    for id_, part in dump.objects.items():
        decided = {
            tuple(step[0] if isinstance(step, tuple) else step for step in path) for path in run.fleet.decisions(id_)
        }
        kind = kind_of(id_)
        out = dict(leaves(bodies[kind, id_.name])) if (kind, id_.name) in bodies else {}
        for field, value in leaves(part.body):
            if field not in decided and (kind, field) not in derived and out.get(field) != value:
                lost.append((id_.kind, *field))
    assert lost == []


def leaves(body: Tree) -> list[tuple[tuple[str, ...], Tree]]:
    """The fields of an object's sections, and its conditions one by one, each with its path."""
    found: list[tuple[tuple[str, ...], Tree]] = []
    for section in ("metadata", "spec", "status"):
        for name, value in (body.get(section) or {}).items():
            if (section, name) == ("status", "conditions"):
                found += [((section, name, str((c["type"],))), {**c, "type": ""}) for c in value]
            else:
                found.append(((section, name), value))
    return found
