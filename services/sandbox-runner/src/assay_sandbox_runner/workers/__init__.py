"""What this service does by the clock."""
