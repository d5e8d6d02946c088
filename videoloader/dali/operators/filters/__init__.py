"""Operators whose pixels depend on their neighbourhood."""
