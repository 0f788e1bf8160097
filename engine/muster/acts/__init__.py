"""What writes: reconcile and watch, the edits of people, imports, and the publishing of pulses."""
