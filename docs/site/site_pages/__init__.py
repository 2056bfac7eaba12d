"""Pages of the documentation that follow from the code: keys, members, columns, options, Python names, reproductions.

The site builds them (`docs/site/generated_pages.py`). `python docs/site/write_pages.py` writes the few that are
committed: the list of keys, the overview of reproductions, the columns of result files, and three pictures.
"""
