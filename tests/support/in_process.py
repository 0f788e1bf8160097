"""A command line run in this process, which has compiled the policies, with the environment of another."""

import os
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from muster.commandline import run


def muster(*arguments: str, environ: Mapping[str, str], cwd: Path) -> tuple[int, str, str]:
    """Return exit code, output and errors."""
    out, err = StringIO(), StringIO()
    with patch.dict(os.environ, environ, clear=True), chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        code = run(list(arguments))
    return code, out.getvalue(), err.getvalue()
