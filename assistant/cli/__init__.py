COMPLETES = "_ASSISTANT_COMPLETE"
"""The variable by which a shell's script asks for completions."""
