"""The commands of the command line, one module each: HELP, DESCRIPTION, EXAMPLES, add_arguments(parser), run(args)."""
