"""From the log of a testbed to the sections `devices` and `radio` of a scenario (`edgefl calibrate`)."""
