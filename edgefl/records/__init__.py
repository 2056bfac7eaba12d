"""What a run records: its tables and their columns, the statuses of participations, the ledger."""
