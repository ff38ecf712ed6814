"""Adapters for other libraries. Each module needs its library; no other code imports it."""
