"""The options that say how `muster get` prints objects, and the output formats that they name."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from muster.cli import options
from muster.dataclass import dataclass

if TYPE_CHECKING:
    from muster.features.get.listing import ListingFormat

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """How to print objects, as given."""

    output: str
    order: str | None
    show_labels: bool
    label_columns: Sequence[str]
    no_headers: bool

    @property
    def shows_labels(self) -> bool:
        """Is a column with labels asked for?"""
        return self.show_labels or bool(self.label_columns)

    def listing(self, *, single: bool) -> "ListingFormat":
        """Parse the output format. click.UsageError for a malformed template or path."""
        from muster.data.jsonpath.template import BadTemplate, parse, parse_path
        from muster.features.get.listing import ListingFormat

        option = "--sort-by"
        if self.order is not None and not self.order.strip():
            raise click.UsageError(f"{option}: a path is missing: write one, as in .metadata.name.")
        try:
            by = None if self.order is None else parse_path(self.order)
            option = "-o jsonpath"
            if self.output.startswith((options.JSONPATH, options.JSONPATH_AS_JSON)):
                form, _, template = self.output.partition("=")
                return ListingFormat(form, parse(template), single, order=by)
            option = "-o custom-columns"
            if self.output.startswith(options.COLUMNS):
                columns = [column.partition(":") for column in self.output.removeprefix(options.COLUMNS).split(",")]
                if not all(header and path for header, _, path in columns):
                    raise click.UsageError(f"{option}: write HEADER:PATH for each column, as in NAME:.metadata.name.")
                paths = {header: parse_path(path) for header, _, path in columns}
                return ListingFormat("columns", columns=paths, order=by, headers=not self.no_headers)
        except BadTemplate as error:
            raise click.UsageError(f"{option}: {error}") from error
        return ListingFormat(
            self.output,
            single=single,
            order=by,
            labels=self.show_labels,
            label_columns=[name.strip() for text in self.label_columns for name in text.split(",") if name.strip()],
            headers=not self.no_headers,
        )


_ORDER = click.option("--sort-by", "order", metavar="PATH", help="Sort by a field: .metadata.creationTimestamp.")
_LABELS = click.option("--show-labels", is_flag=True, help="Show labels as the last column.")
_LABEL_COLUMNS = click.option(
    "-L",
    "--label-columns",
    type=options.TextType(),
    multiple=True,
    metavar="LABEL,...",
    help="Show these labels as columns.  Repeatable.",
)
_NO_HEADERS = click.option("--no-headers", is_flag=True, help="Print tables without their headings.")
_OUTPUT = options.output_option("table", "wide", "name", "yaml", "json", templates=True)


def format_options(function: _F) -> _F:
    """`--sort-by`, `--show-labels`, `-L`, `--no-headers` and `-o`, as one parameter `form`."""
    joined = options.combine_options(
        function, "form", FormatOptions, "output", "order", "show_labels", "label_columns", "no_headers"
    )
    return _ORDER(_LABELS(_LABEL_COLUMNS(_NO_HEADERS(_OUTPUT(joined)))))
