"""The radio: from a round's participants and their messages to durations, bits and interrupts in virtual time.

`link.py` is where to begin. Nothing is imported here, so that the sections and catalogues load without the physics.
"""
