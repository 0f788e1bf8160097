"""Field selectors, as in `kubectl get --field-selector`: `metadata.name!=a,metadata.namespace=shop`.

The fields are those that an API server supports: `metadata.name` and `metadata.namespace` of every kind (of custom
resources it has no others), and the signer of a CertificateSigningRequest
(k8s.io/apimachinery/pkg/fields/selector.go, pkg/apis/certificates/v1/conversion.go).
"""

from collections.abc import Iterable, Mapping
from typing import Final

from muster.data.kinds import CSR, Kind
from muster.data.names import did_you_mean
from muster.data.tree import Tree, dig
from muster.dataclass import dataclass

NAME: Final = "metadata.name"
NAMESPACE: Final = "metadata.namespace"
#: Further fields, by kind.
_FIELDS_BY_KIND: Final[Mapping[Kind, tuple[str, ...]]] = {CSR: ("spec.signerName",)}
_ESCAPES: Final = {"\\\\": "\\", "\\,": ",", "\\=": "="}


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One requirement: the value of a field, or (`negated`) any other value."""

    field: str
    value: str
    negated: bool

    def matches(self, body: Tree) -> bool:
        """Does an object meet it? A missing field has the value ''."""
        return (str(dig(body, *self.field.split(".")) or "") == self.value) is not self.negated


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """A parsed selector: all terms must hold; without terms it matches everything."""

    terms: tuple[FieldTerm, ...] = ()

    def matches(self, body: Tree) -> bool:
        """Does an object meet all terms?"""
        return all(term.matches(body) for term in self.terms)

    def check(self, kinds: Iterable[Kind]) -> None:
        """Raise ValueError if none of the kinds has such a field."""
        kinds = tuple(kinds)
        fields = {NAME, *(field for kind in kinds for field in _fields(kind))}
        for term in self.terms:
            if term.field not in fields:
                owner = f"a {kinds[0].label}" if len(kinds) == 1 else "these kinds"
                if term.field == NAMESPACE:
                    raise ValueError(
                        f"{NAMESPACE} cannot be used: {owner} {'is' if len(kinds) == 1 else 'are'} in no namespace"
                    )
                hint = did_you_mean(term.field, fields) or "-l selects by labels"
                usable = " or ".join(sorted(fields))
                raise ValueError(f"the field {term.field!r} of {owner} cannot be used, only {usable}; {hint}")


def _fields(kind: Kind) -> tuple[str, ...]:
    return (*((NAMESPACE,) if kind.namespaced else ()), *_FIELDS_BY_KIND.get(kind, ()))


def parse_field_selector(text: str) -> FieldSelector:
    r"""Parse `field=value`, `field==value` and `field!=value`, separated by commas.

    In a value, `\,`, `\=` and `\\` are literal. An empty text selects everything. ValueError for anything else.
    """
    return FieldSelector(tuple(_term(term) for term in _terms(text) if term.strip()))


def _terms(text: str) -> list[str]:
    """Split at commas that no backslash precedes."""
    terms, begin, position = list[str](), 0, 0
    while position < len(text):
        if text[position] == ",":
            terms.append(text[begin:position])
            begin = position + 1
        position += 2 if text[position] == "\\" else 1
    return [*terms, text[begin:]]


def _term(text: str) -> FieldTerm:
    """As an API server reads it: the first operator counts, and of two that begin there the longer one."""
    for position in range(len(text)):
        for operator in ("!=", "==", "="):
            if text.startswith(operator, position):
                field, value = text[:position].strip(), text[position + len(operator) :].strip()
                if not field:
                    break
                return FieldTerm(field, _unescaped(value), operator == "!=")
    raise ValueError(f"{text!r} is no field selector such as {NAME}=NAME, {NAME}!=NAME or {NAMESPACE}=NAMESPACE")


def _unescaped(value: str) -> str:
    r"""Resolve the escapes. ValueError for another backslash, and for an operator or comma without one."""
    characters, position = list[str](), 0
    while position < len(value):
        if value[position] == "\\":
            pair = value[position : position + 2]
            if pair not in _ESCAPES:
                raise ValueError(f"{value!r} has an invalid escape {pair!r}: write \\\\, \\, or \\=")
            characters.append(_ESCAPES[pair])
            position += 2
        elif value[position] in ",=":
            raise ValueError(f"{value!r} has {value[position]!r} in it: write \\{value[position]}")
        else:
            characters.append(value[position])
            position += 1
    return "".join(characters)
