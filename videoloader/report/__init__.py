"""What a person looks at: tables of videos, sheets of frames, running jobs."""
