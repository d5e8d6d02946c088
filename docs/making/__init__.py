"""What the build of the site makes from code: pages, pictures and diagrams."""
