"""What coding agents call at their events: what is worth knowing, and what was said."""
