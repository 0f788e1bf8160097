"""Field selectors, as API servers read them."""

import pytest

from muster.cli.fieldselector import FieldTerm, parse_field_selector
from muster.data.kinds import CSR, MANAGED_CLUSTER, PLACEMENT
from muster.data.tree import Tree


def _body(name: str, namespace: str = "") -> Tree:
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {})}}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        (" , ", ()),
        ("metadata.name=a", (FieldTerm("metadata.name", "a", negated=False),)),
        ("metadata.name==a", (FieldTerm("metadata.name", "a", negated=False),)),
        ("metadata.name!=a", (FieldTerm("metadata.name", "a", negated=True),)),
        ("metadata.name=", (FieldTerm("metadata.name", "", negated=False),)),
        (r"spec.signerName=a\,b\=c\\d", (FieldTerm("spec.signerName", r"a,b=c\d", negated=False),)),
        (
            "metadata.name!=a, metadata.namespace=b",
            (FieldTerm("metadata.name", "a", negated=True), FieldTerm("metadata.namespace", "b", negated=False)),
        ),
    ],
)
def test_a_selector_is_a_list_of_terms(text: str, terms: tuple[FieldTerm, ...]) -> None:
    assert parse_field_selector(text).terms == terms


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata.name", "is no field selector such as metadata.name=NAME"),
        ("=a", "is no field selector"),
        ("metadata.name in (a,b)", "is no field selector"),
        ("metadata.name=a=b", r"has '=' in it: write \\="),
        (r"metadata.name=a\b", "has an invalid escape"),
        ("metadata.name=a\\", "has an invalid escape"),
    ],
)
def test_what_is_no_selector(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_field_selector(text)


def test_all_terms_must_hold() -> None:
    bodies = [_body("a", "x"), _body("a", "y"), _body("b", "x"), _body("a")]
    selector = parse_field_selector("metadata.name=a,metadata.namespace!=y")
    assert [body for body in bodies if selector.matches(body)] == [bodies[0], bodies[3]]


def test_a_kind_has_the_fields_that_an_api_server_knows() -> None:
    parse_field_selector("metadata.name=a").check([MANAGED_CLUSTER])
    parse_field_selector("metadata.name=a,metadata.namespace=b").check([PLACEMENT, MANAGED_CLUSTER])
    parse_field_selector("spec.signerName=a").check([CSR])
    for text, message in (
        ("metadata.namespace=b", "a ManagedCluster is in no namespace"),
        ("metadata.nmae=b", "did you mean 'metadata.name'?"),
        ("spec.hubAcceptsClient=true", "-l selects by labels"),
    ):
        with pytest.raises(ValueError, match=message.replace("?", r"\?")):
            parse_field_selector(text).check([MANAGED_CLUSTER])
