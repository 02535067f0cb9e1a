// What takes longer than a second is said, with its seconds: an answer that is on its way looks like none.

const PATIENT_MS = 1000, LOOK_AGAIN_MS = 250;
//: What a request is doing, as a person says it; those that are left out wait on purpose, or have words of their own.
const DOING = {
  open: "opening", "bench.run": "running", "bench.rest": "estimating by the slow methods", "bench.cloud": "running other seeds", "bench.curves": "drawing", "bench.picture": "drawing", "edit.do": "editing", "edit.type": "reading the text",
  "edit.adopt": "reading the text", "edit.export": "making the file", "excitation.look": "running the source", "excitation.information": "foretelling what it will teach", "excitation.export": "making the file", "study.text": "planning the study",
  "robot.motion": "running for the robot", "robot.curves": "running for the robot", "data.drop": "reading the file", "data.look": "reading the file", "data.lag": "comparing", "data.identify": "identifying", "data.validate": "validating", "data.folds": "validating",
};

/** Call `show(words, seconds)` while the oldest answer is long in coming, and with no words when none is. */
export function watchBusy(wire, show) {
  let last = "";
  return setInterval(() => {
    const now = performance.now(), late = [...wire.pending.values()].filter(({ kind, since }) => kind in DOING && now - since > PATIENT_MS);
    const oldest = late.sort((one, other) => one.since - other.since)[0], seconds = oldest ? Math.floor((now - oldest.since) / 1000) : 0;
    const words = oldest ? `${DOING[oldest.kind]} … ${seconds} s` : "";
    if (words !== last) show(last = words, seconds);
  }, LOOK_AGAIN_MS);
}
