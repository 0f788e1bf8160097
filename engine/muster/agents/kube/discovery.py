"""Which kinds an API server serves, and where it has their objects.

Source: the API's discovery documents, `/api/v1` and `/apis/<group>/<version>`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from http import HTTPStatus
from urllib.parse import quote

from muster.agents.kube.apiserver import ApiError
from muster.data.tree import Tree, mappings_at
from muster.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ApiResource:
    """A kind as a server serves it."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """The version without its group."""
        return self.api_version.rpartition("/")[2]

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return where an object is; without a name the collection, without a namespace that of all namespaces.

        The namespace of a kind that has none does not count.
        """
        inside = ("namespaces", namespace) if namespace and self.namespaced else ()
        steps = (*inside, self.plural, *((name,) if name else ()))
        return "/".join((_root(self.api_version), *(quote(step, safe="") for step in steps)))


@dataclass
class Discovery:
    """The kinds of an API server. `get_json` gets a path; ApiError if there is no such answer.

    Kinds that were found are not asked for again; a kind that is missing is, because it may be installed meanwhile.
    """

    get_json: Callable[[str], Mapping[str, Tree]]
    _known: dict[str, dict[str, ApiResource]] = field(default_factory=dict)

    def find(self, api_version: str, kind: str) -> ApiResource | None:
        """Return a kind; None if the server does not serve it. ApiError if the server cannot be asked."""
        if kind not in self._known.get(api_version, ()):
            try:
                document = self.get_json(_root(api_version))
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
                document = {}
            self._known[api_version] = {resource.kind: resource for resource in _resources(api_version, document)}
        return self._known[api_version].get(kind)


def _root(api_version: str) -> str:
    return f"/{'apis' if '/' in api_version else 'api'}/{quote(api_version)}"


def _resources(api_version: str, document: Mapping[str, Tree]) -> Iterator[ApiResource]:
    for resource in mappings_at(dict(document), "resources"):
        name = str(resource.get("name"))
        if "/" not in name:  # else it is a subresource
            yield ApiResource(api_version, str(resource.get("kind")), name, resource.get("namespaced") is True)
