"""The commands that other programs are connected by."""
