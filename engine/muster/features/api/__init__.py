"""Answers for other programs: over HTTP beside the page, and to assistants over MCP."""
