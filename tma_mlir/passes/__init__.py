"""Passes, one file each, named as its flag."""
