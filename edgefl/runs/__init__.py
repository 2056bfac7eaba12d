"""One scenario to one result, and many scenarios to many results."""
