"""How a Diagram becomes a picture, stage by stage: graph, cuts, layers, rows, sizes, grid, routes, then SVG or raster."""
