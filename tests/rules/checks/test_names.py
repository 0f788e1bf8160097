"""Names that are valid for their object, and not for what is named after it."""

import pytest

from muster.data.kinds import MANAGED_CLUSTER, MANAGED_CLUSTER_SET, PLACEMENT, Kind
from muster.data.yaml.emitter import emit
from muster.features.test.memory import MemorySnapshot
from muster.run.checking import check_snapshot

_SPECS = {MANAGED_CLUSTER: {"hubAcceptsClient": True}}


def _findings(kind: Kind, name: str) -> list[tuple[str, str]]:
    metadata = {"name": name, **({"namespace": "n"} if kind.namespaced else {})}
    snapshot = MemorySnapshot({"f.yaml": emit(kind.body(metadata, spec=_SPECS.get(kind, {})))})
    return [(found.message, found.hint) for found in check_snapshot(snapshot, None).findings if found.code == "MUS282"]


@pytest.mark.parametrize(
    ("kind", "longest", "dots"),
    [
        (MANAGED_CLUSTER, 63, False),
        (PLACEMENT, 63, True),
        (MANAGED_CLUSTER_SET, 63, True),
    ],
)
def test_a_name_that_a_hub_refuses_as_a_namespace_or_label_is_a_warning(
    kind: Kind, longest: int, *, dots: bool
) -> None:
    assert _findings(kind, "a" * longest) == []
    ((message, hint),) = _findings(kind, "a" * (longest + 1))
    assert f"has {longest + 1} characters, and becomes " in message
    assert hint == f"it may have {longest}"
    assert [hint for _, hint in _findings(kind, "a.b")] == ([] if dots else ["write a-b"])
