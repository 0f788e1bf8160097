"""What is remembered between runs, in refs of its own."""
