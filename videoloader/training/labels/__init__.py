"""Labels and other columns of samples, from tables, folders and files next to the videos."""
