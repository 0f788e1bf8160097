"""`muster detect`: probes, and the reporters of their results."""
