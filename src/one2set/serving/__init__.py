"""Serving: keyphrases over HTTP, and the page for people. Needs the extra `[serve]`."""
