"""Many runs: shared out among threads, and several at a time in the lanes of vectors."""
