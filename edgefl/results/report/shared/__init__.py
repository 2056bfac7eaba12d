"""What pages are made of: result folders as arrays, words, colours and axes, tables, cards, scripts and styles."""
