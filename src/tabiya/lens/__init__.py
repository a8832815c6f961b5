"""Looking inside any mind: what it hangs on, found by interfering and seeing what changes."""
