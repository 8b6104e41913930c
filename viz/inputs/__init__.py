"""What a user gives on the command line: expressions, values, Python files."""
