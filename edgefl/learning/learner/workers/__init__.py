"""Workers: the processes that train and test, here or on a cluster."""
