"""`muster report`: reports of adapters."""
