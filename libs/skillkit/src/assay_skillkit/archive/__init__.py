"""Zips, read without trusting them."""
