"""The physical world of devices: who they are, where they are, when they are present, what computing costs them."""
