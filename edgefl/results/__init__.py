"""Result folders and all that is made of them: tables, summaries, statistics, pages, exports, tracking."""
