"""The command line: joins the verbs, turns errors into exit codes."""


def main() -> None:
    """Run `muster`."""
