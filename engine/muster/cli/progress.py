"""Progress on a terminal: the current step, if it takes longer than a moment. Nothing in a pipe."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

#: Progress is shown only after this time.
PATIENCE_SECONDS = 1.0


@contextmanager
def working(step: str) -> Iterator[None]:
    """Show the current step and its progress on standard error while the block runs.

    `step` is shown until the run reports a step (`muster.run.progress`).
    """
    if not sys.stderr.isatty():
        yield
        return
    # rich takes long to import, and only terminals need it
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from muster.run.progress import RunStep, told_to

    bar = (BarColumn(), MofNCompleteColumn())
    columns = (SpinnerColumn(), TextColumn("{task.description}"), *bar, TimeElapsedColumn())
    shown = Progress(*columns, console=Console(stderr=True), transient=True)
    task = shown.add_task(step, total=None)

    def listen(now: RunStep, done: int, total: int) -> None:
        shown.update(task, description=now, completed=done, total=total or None)

    timer = Timer(PATIENCE_SECONDS, shown.start)
    timer.daemon = True
    timer.start()
    try:
        with told_to(listen):
            yield
    finally:
        timer.cancel()
        timer.join()
        shown.stop()
