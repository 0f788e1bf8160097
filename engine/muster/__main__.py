"""The entry point: says the version without loading anything else, which would take three times as long, or hands over
to the command line."""

import sys

from muster.version import __version__


def main() -> None:
    """Run `muster` and exit with its code."""
    if sys.argv[1:] == ["--version"]:
        print(f"muster, version {__version__}")  # noqa: T201 - as click prints it
    else:
        from muster import commandline

        commandline.main()


if __name__ == "__main__":
    main()
