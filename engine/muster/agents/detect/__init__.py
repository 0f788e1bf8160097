"""`muster detect`: probes, and who reports what they saw."""
