"""What other programs may do with this memory: over MCP, from their hooks, and how to connect one.

All input is other people's data, and all output is quoted.
"""
