"""Argo CD's own generators and templates, as a program that `make servers` builds from main.go."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from muster.data.tree import Tree

BINARY = shutil.which("applicationset")
needs_argocd = pytest.mark.skipif(BINARY is None, reason="applicationset (Argo CD) not installed (make servers)")


def applications(applicationset: Path, repository: Path, *kubeconfig: Path) -> list[Tree]:
    """The Applications that Argo CD makes of a file, with this clone as the repository."""
    assert BINARY is not None
    command = [BINARY, str(applicationset), str(repository), *map(str, kubeconfig)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) or []
