"""The fleet as a page: files that a browser shows by themselves, from a disk or from any web server."""
