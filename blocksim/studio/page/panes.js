// The panes, in the order of their tabs. To add one: import it and put it into the list.
import { benchPane } from "./bench.js";
import { editPane } from "./edit.js";
import { robotPane } from "./robot.js";

export const panes = [benchPane, editPane, robotPane];
