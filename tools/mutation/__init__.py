"""Mutation testing of the rooms whose mistakes are wrong data."""
