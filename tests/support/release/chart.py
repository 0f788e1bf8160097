"""The chart of the engine, `deploy/chart`, as `helm package` would pack it, but with the commit's times."""

from tests.support.release.making import Making, archive


def make_chart(making: Making) -> None:
    """Make the chart."""
    archive(making.source / "deploy/chart", making.add(f"muster-{making.version}.tgz"), making.epoch, "muster/")
