// Which words belong together, from the weights [target words x source words] of an alignment.

import { locate } from "../sentences.js";

const LEAST = 0.06; // weaker links are not shown

const overlaps = (a, b) => a && b && a[0] < b[1] && b[0] < a[1];

/** The alignment with the places of its words in both sentences. */
export function placed(alignment, source, target) {
  return {
    weights: alignment.weights,
    source: { words: alignment.source, places: locate(alignment.source, source) },
    target: { words: alignment.target, places: locate(alignment.target, target) },
  };
}

/** The number of the word at a place, on one side; -1 if there is none. */
export const wordAt = (side, range) => side.places.findIndex((place) => overlaps(place, range));

/**
 * Partners of a word on the other side, strongest first: [{index, weight}], and the share that went to no word.
 * Weights of a source word are shares of all target words that looked at it.
 */
export function partners(found, side, index) {
  const column = side === "source";
  const other = found[column ? "target" : "source"].words.length;
  const raw = (column ? found.weights.map((row) => row[index] ?? 0) : (found.weights[index] ?? [])).slice(0, other);
  const sum = raw.reduce((total, weight) => total + weight, 0);
  const whole = column ? sum : Math.max(1, sum); // a row may have looked at the start and end marks too
  if (!(sum > 0)) return { linked: [], rest: 1 };
  const linked = raw
    .map((weight, i) => ({ index: i, weight: weight / whole }))
    .filter(({ weight }) => weight >= Math.min(LEAST, Math.max(...raw) / whole))
    .toSorted((a, b) => b.weight - a.weight)
    .slice(0, 8);
  return { linked, rest: column ? 0 : Math.max(0, 1 - sum) };
}
