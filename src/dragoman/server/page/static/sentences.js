// Splits a text into sentences as the server does (dragoman/text/sentences.py), and at every line break.
// Each part keeps the white space after it, so joining the parts gives the text.

const CLOSING = "\"”’'»)\\]}」』）";
const OPENING = /^[¿¡«"“„‘'([{<「『（]/;
const ENDS = new RegExp(`(?<![.!?…؟।])([.!?…؟।]+)[${CLOSING}]*\\s+|([。！？]+[${CLOSING}]*\\s*)|\\n\\s*`, "gu");
const ABBREVIATION = new RegExp(
  "^(?:mrs?|ms|messrs|dra?|prof|ste?|[js]r|sra|srta|sres|dña|rev|hon|gen|col|capt|lt|sgt|gob|pres|lic|ing|arq|uds?|" +
    "vds?|ee|uu|ej|etc|cf|vs|approx|aprox|dept|dpto|inc|ltd|co|corp|bros|av|avda|gral)$",
  "iu",
);
const BEFORE_NUMBER = /^(?:nº?|no|n[uú]m|pp?|págs?|art|fig|vol|cap|ch|sec|eq|ca?|tel)$/iu;
const LAST_WORD = /[\p{L}\p{N}_.]+$/u;
const LONGEST = 10;
const DOTTED = /^(?:\p{L}{1,2}\.)+\p{L}{1,2}$/u;
const LIST_NUMBER = /^\s*\d{1,3}$/;

/** @param {string} text @returns {string[]} */
export function splitSentences(text) {
  const parts = [];
  let start = 0;
  ENDS.lastIndex = text.length - text.trimStart().length;
  for (let match = ENDS.exec(text); match; match = ENDS.exec(text)) {
    const stop = match.index + match[0].length;
    if (stop < text.length && endsSentence(text, start, match, stop)) {
      parts.push(text.slice(start, stop));
      start = stop;
    }
  }
  return text ? [...parts, text.slice(start)] : [];
}

function endsSentence(text, start, match, stop) {
  if (match[2] || match[0].includes("\n")) return true;
  if (!match[1] || !beginsSentence(text.slice(stop, stop + 4))) return false;
  return match[1] !== "." || !abbreviates(text, start, match.index, /^\p{Nd}/u.test(text.slice(stop, stop + 2)));
}

function beginsSentence(text) {
  const rest = text.replace(/^[—–-]+/, "");
  return OPENING.test(rest) || (/^[\p{L}\p{N}]/u.test(rest) && !/^\p{Ll}/u.test(rest));
}

function abbreviates(text, start, stop, beforeNumber) {
  const word = text.slice(Math.max(start, stop - LONGEST), stop).match(LAST_WORD)?.[0] ?? "";
  return (
    ABBREVIATION.test(word) ||
    (beforeNumber && BEFORE_NUMBER.test(word)) ||
    /^\p{Lu}$/u.test(word) ||
    DOTTED.test(word) ||
    LIST_NUMBER.test(text.slice(start, stop))
  );
}

/** A part as [white space before, text, white space after]. */
export function trimmed(part) {
  const text = part.trim();
  const at = text ? part.indexOf(text) : part.length;
  return [part.slice(0, at), text, part.slice(at + text.length)];
}

/** Where words stand in a text, in order: [start, stop] for each, null for one that is not found. */
export function locate(words, text) {
  let from = 0;
  return words.map((word) => {
    const at = word ? text.indexOf(word, from) : -1;
    if (at < 0) return null;
    from = at + word.length;
    return [at, from];
  });
}
