// Ranks pages that answer a task above internals, figures, examples and source.
const PLACES = [
  ["development/measurements/", -30],
  ["development/", -20],
  ["api/", -8],
  ["auto_examples/", -10],
  ["coming_from/", -6],
  ["_modules/", -60],
  ["guide/", 8],
  ["howto/", 6],
  ["start/", 6],
  ["reference/", 4],
  ["estimators/", 2],
];
var Scorer = {
  score: ([docname, title, anchor, descr, score]) => {
    const place = PLACES.find(([prefix]) => docname.startsWith(prefix));
    return score + (place ? place[1] : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
