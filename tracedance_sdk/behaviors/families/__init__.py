"""One module for each behaviour of the catalogue: `find`, its second stage, and `judge`, its rules.

What several of them ask for (was it seen, was it asked, which remedy is named) is in modules of
`signs`.
"""
