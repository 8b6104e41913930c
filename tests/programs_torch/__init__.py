"""Small programs written for torch. Each has `main()`, which trains something and returns the losses."""
