"""The objects that a command line names: kinds or names, a namespace, labels and fields, with kubectl's options."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from muster.cli import completion, options
from muster.cli.fieldselector import FieldSelector, parse_field_selector
from muster.cli.outcome import say
from muster.data.kinds import UnknownKind, kinds_named
from muster.data.tree import Tree, mapping_at
from muster.dataclass import dataclass
from muster.rules.policies.selectors import LabelSelector

if TYPE_CHECKING:
    from muster.run.run import Run

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Selection:
    """Objects, and a message for each name without an object."""

    objects: Sequence[Tree]
    missing: Sequence[str] = ()

    def say_missing(self) -> bool:
        """Print what is missing on standard error; return whether anything is."""
        say(*(f"error: {line}" for line in self.missing), err=True)
        return bool(self.missing)


@dataclass(frozen=True, slots=True)
class ObjectQuery:
    """The objects to show."""

    targets: Sequence[str]
    namespace: str | None
    labels: LabelSelector
    fields: FieldSelector

    @property
    def names_one(self) -> bool:
        """Does the command name one object?"""
        return len(self.targets) == 1 and "/" in self.targets[0]

    def of(self, run: "Run") -> Selection:
        """Select the objects of a run."""
        from muster.cli.select import select

        objects, missing = list[Tree](), list[str]()
        for target in self.targets:
            bodies = select(run, target)
            in_scope = [body for body in bodies if self._is_inside(body)]
            if "/" in target and not in_scope:
                missing.append(
                    f"there is no {target} in namespace {self.namespace}"
                    if bodies
                    else completion.unknown_object(target).message
                )
            objects += (body for body in in_scope if self._matches(body))
        return Selection(objects, missing)

    def _is_inside(self, body: Tree) -> bool:
        """Is it in the namespace? As in kubectl, objects of kinds without namespaces are."""
        return not self.namespace or mapping_at(body, "metadata").get("namespace", self.namespace) == self.namespace

    def _matches(self, body: Tree) -> bool:
        labels = mapping_at(body, "metadata", "labels")
        texts = {name: value for name, value in labels.items() if isinstance(value, str)}
        return self.labels.matches(texts) and self.fields.matches(body)


@dataclass(frozen=True, slots=True)
class QueryScope:
    """The options that narrow a query, as they were given."""

    namespace: str | None
    all_namespaces: bool
    labels: str | None
    fields: str | None

    @property
    def is_everything(self) -> bool:
        """Is no option given?"""
        return self.namespace is None and self.labels is None and self.fields is None

    def query(self, targets: Sequence[str]) -> ObjectQuery:
        """Return the query for `KIND[/[NAMESPACE/]NAME]`; as in kubectl, an empty selector selects everything.

        click.UsageError for an unknown kind, a malformed selector, and a field that none of the kinds has.
        """
        if self.namespace and self.all_namespaces:
            raise click.UsageError("-n names one namespace, -A all of them.")
        with options.usage_errors(UnknownKind):
            kinds = dict.fromkeys(kind for target in targets for kind in kinds_named(target.partition("/")[0]))
        try:
            labels = LabelSelector.written(self.labels) if self.labels and self.labels.strip() else LabelSelector()
        except ValueError as error:
            raise click.UsageError(f"-l: {error}") from error
        try:
            fields = parse_field_selector(self.fields or "")
            fields.check(kinds)
        except ValueError as error:
            raise click.UsageError(f"--field-selector: {error}") from error
        return ObjectQuery(targets, self.namespace, labels, fields)

    def nothing(self, targets: Sequence[str]) -> str:
        """Say that there are no such objects."""
        in_namespace = f" in namespace {self.namespace}" if self.namespace else ""
        selectors = f" with labels {self.labels}" if self.labels else ""
        selectors += f" with fields {self.fields}" if self.fields else ""
        return (
            f"no {', '.join(targets)}{in_namespace}{selectors}{'' if in_namespace or selectors else ' in this fleet'}"
        )


_NAMESPACE = click.option(
    "-n",
    "--namespace",
    type=options.TextType(),
    metavar="NAME",
    shell_complete=completion.namespaces,
    help="Only objects in this namespace.",
)
_ALL_NAMESPACES = click.option("-A", "--all-namespaces", is_flag=True, help="Objects in all namespaces; the default.")
_LABELS = click.option(
    "-l",
    "--selector",
    "labels",
    type=options.TextType(),
    metavar="LABELS",
    help="Only objects with these labels: 'region=eu,tier!=test'.",
)
_FIELDS = click.option(
    "--field-selector",
    "fields",
    metavar="FIELDS",
    help="Only objects with these fields: 'metadata.name!=a,metadata.namespace=shop'.",
)


def scope_options(function: _F) -> _F:
    """`-n`, `-A`, `-l` and `--field-selector`, as one parameter `scope`."""
    joined = options.combine_options(function, "scope", QueryScope, "namespace", "all_namespaces", "labels", "fields")
    return _NAMESPACE(_ALL_NAMESPACES(_LABELS(_FIELDS(joined))))
