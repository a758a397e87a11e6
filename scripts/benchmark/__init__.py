"""The benchmark: each figure beside what it is held against, taken in the same run.

`__main__` is the order of the run. `facts` and `vectors` make the memory that is measured,
`commands`, `indexing`, `growth` and `chat` measure, `rivals` are the scripts it is held against,
`page/` writes docs/benchmarks.md.
"""
