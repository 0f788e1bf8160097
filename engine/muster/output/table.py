"""Tables: rich on a terminal, aligned plain text in a pipe."""

from collections.abc import Sequence

from muster.model.printable import printable


def table_text(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return columns aligned by spaces, as `kubectl get` prints them; no trailing blanks."""
    cells = [list(headers), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headers))]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


#: Colours by word, for cells that hold a condition's status or the like.
STYLES = {"True": "green", "False": "red", "Unknown": "yellow"}


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on standard output."""
    import sys

    if not sys.stdout.isatty():
        sys.stdout.write(table_text(headers, rows) + "\n")
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        table.add_column(header, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell), style=STYLES.get(cell.split(" ")[0], "")) for cell in row))
    Console().print(table)
