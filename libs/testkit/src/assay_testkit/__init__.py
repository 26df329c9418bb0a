"""What the tests of several packages share. No service depends on it."""
