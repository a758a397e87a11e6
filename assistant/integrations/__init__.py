"""What other programs may do with this memory: over MCP, from their hooks, and how to connect one.

All that comes in is data of somebody else, and all that goes out is quoted.
"""
