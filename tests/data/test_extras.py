"""An extra is installed from where this muster came from."""

import json
from importlib.metadata import PackageNotFoundError
from unittest.mock import Mock

import pytest

from muster.data import extras
from muster.data.extras import install_command

COMMIT = "c0ffee" * 6 + "c0ff"


@pytest.mark.parametrize(
    ("direct", "command"),
    [
        ({"url": "https://me:word@git.example.com/muster.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
         f"pip install 'muster-fleet[prove] @ git+https://git.example.com/muster.git@{COMMIT}'"),
        ({"url": "ssh://git@example.com/muster.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
         f"pip install 'muster-fleet[prove] @ git+ssh://git@example.com/muster.git@{COMMIT}'"),
        ({"url": "file:///tmp/muster_fleet-1.whl", "archive_info": {}},
         "pip install 'muster-fleet[prove] @ file:///tmp/muster_fleet-1.whl'"),
        ({"url": "file:///home/ada/my%20muster", "dir_info": {"editable": True}},
         "pip install -e '/home/ada/my muster[prove]'"),
        ({"url": "file:///src/muster", "dir_info": {}}, "pip install '/src/muster[prove]'"),
        (None, "pip install 'z3-solver>=4.13'"),
        ({"url": 1}, "pip install 'z3-solver>=4.13'"),
    ],
)  # fmt: skip
def test_the_command_installs_from_the_same_source(
    direct: object, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Mock(requires=["click>=8", 'z3-solver>=4.13; extra == "prove"', "pika>=1.4; extra == 'amqp'"])
    known.read_text.return_value = None if direct is None else json.dumps(direct)
    monkeypatch.setattr(extras, "distribution", Mock(return_value=known))
    assert install_command("prove") == command


def test_files_that_were_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "distribution", Mock(side_effect=PackageNotFoundError))
    assert install_command("prove") == "pip install 'muster-fleet[prove]', from where you have muster"
