import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
"""onnxruntime otherwise writes a device id and events under ~/.cache/Microsoft, and sends them to
Microsoft. It reads this when it is imported."""
