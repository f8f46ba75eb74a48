"""The transcripts in the documents, made anew: `make transcripts`."""
