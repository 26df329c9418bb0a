"""Assay's contracts: every message, subject, stream, consumer and bucket. Depends on pydantic alone."""
