"""Result folders: tables, summaries, statistics, pages, exports, tracking."""
