"""Plans: by which engine and kernel clients are trained, and how many together.

`plan.py` says what a plan is, `choice.py` chooses one.
"""
