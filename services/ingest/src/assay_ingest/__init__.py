"""Ingest: unpacks uploads, checks their format, stores bundles."""
