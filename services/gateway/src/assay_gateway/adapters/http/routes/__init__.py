"""One file for each area of the REST API."""
