"""What all verbs share: options, reading the fleet, tables, documents and formats of findings."""
