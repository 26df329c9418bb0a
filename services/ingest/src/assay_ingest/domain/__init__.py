"""What ingest itself decides: how a refusal is put."""
