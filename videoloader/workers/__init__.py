"""Worker processes: supervised, limited in time and memory, and ended with their parent."""
