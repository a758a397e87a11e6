"""The benchmark: each figure compared with a baseline, measured in the same run.

`__main__` runs everything in order. `facts` and `vectors` make the memory, `commands`, `indexing`,
`growth` and `chat` measure, `rivals` are the baselines, `page/` writes docs/benchmarks.md.
"""
