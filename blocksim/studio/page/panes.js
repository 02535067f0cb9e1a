// The panes, in the order of their tabs. To add one: import it and put it into the list.
import { benchPane } from "./bench.js";

export const panes = [benchPane];
