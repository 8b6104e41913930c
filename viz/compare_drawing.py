def draw_pair(comparison, max_nodes):
    raise NotImplementedError
