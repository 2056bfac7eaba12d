"""Parts of pages: result folders as arrays, words, colours and axes, tables, cards, templates, scripts and styles."""
