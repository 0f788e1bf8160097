"""`python -m muster`: the command line, where the `muster` script is not on the PATH."""

from muster.commands.cli import main

if __name__ == "__main__":
    main()
