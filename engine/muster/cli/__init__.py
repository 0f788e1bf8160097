"""What all commands share: options, reading the fleet, tables, documents and formats of findings."""
