COMPLETES = "_ASSISTANT_COMPLETE"
"""Environment variable with which a shell's script asks for completions."""
