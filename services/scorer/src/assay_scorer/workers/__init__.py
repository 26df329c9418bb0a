"""What runs by the clock, each on `assay_servicekit.periodic`."""
