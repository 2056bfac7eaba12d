"""Every curve of the documentation against its formula: `python -m channel.validate`."""
