"""Building what copies become: descriptors, instructions, address arithmetic."""
