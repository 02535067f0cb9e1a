// The panes, in the order of their tabs. To add one: import it and put it into the list.
import { benchPane } from "./bench.js";
import { editPane } from "./edit.js";
import { excitationPane } from "./excitation.js";
import { studyPane } from "./study.js";
import { robotPane } from "./robot.js";
import { dataPane } from "./data.js";

export const panes = [benchPane, editPane, excitationPane, studyPane, robotPane, dataPane];
