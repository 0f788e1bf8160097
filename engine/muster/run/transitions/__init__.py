"""What a run changes, in the fleet's terms."""
