"""What Assay's agents share: models, metering, bounds, and the rehearsal that needs no model."""
