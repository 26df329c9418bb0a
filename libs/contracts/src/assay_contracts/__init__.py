"""Every message, subject, stream, consumer and bucket of Assay. Depends on pydantic alone."""
