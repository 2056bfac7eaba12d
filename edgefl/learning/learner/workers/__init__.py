"""Workers: the processes that train and test, here or on a cluster, and their work.

`trainer.py` is the work, `processes.py` has those who do it.
"""
