"""`sessions list` and `sessions show`: the transcripts of past conversations."""
