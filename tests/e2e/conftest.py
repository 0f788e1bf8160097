"""What stories need: the command line in this process."""

from tests.commands.conftest import muster

__all__ = ["muster"]
