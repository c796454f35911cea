"""Reading the IR around a copy: what values can be, where memory comes from, what the planner is asked."""
