"""How `viz.groups` names, folds and cuts groups."""
