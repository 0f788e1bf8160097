"""What stories need: the command line in this process."""

from tests.support.commandline import muster

__all__ = ["muster"]
