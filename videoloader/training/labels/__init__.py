"""Labels and other columns of samples, from tables, folders and files beside the videos."""
