"""Access for other programs: memory over MCP, hooks, and connecting a program.

All input is untrusted data of others, and all output is quoted.
"""
