"""The search of a design: candidates as trials, polished until a budget is used, and judged on the fine grid."""
