"""`muster get pulses`, and publishing pulses: events are sent after the commit that they follow from, and remembered
once delivered (`muster.git.memory.pulses`)."""
