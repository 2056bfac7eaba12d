"""How the server coordinates devices: policies (who waits for whom), selection (who takes part), its view of them."""
