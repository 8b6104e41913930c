"""Style and scripts that the pages share: each file has one concern, and a page takes those that it needs."""
