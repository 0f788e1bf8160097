"""The command that installs an extra."""


def install_command(extra: str) -> str:
    """Return the command that adds an extra, to be run in a checkout of muster, which is on no package index."""
    return f"pip install '.[{extra}]' in a checkout of muster"
