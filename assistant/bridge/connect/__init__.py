"""Another program told of this memory, in its own configuration, and untold again."""
