"""How the server coordinates devices: policies (who waits for whom), selections (who takes part), its view of them."""
