"""The operator table by family of operations; `ops_table` puts it together."""
