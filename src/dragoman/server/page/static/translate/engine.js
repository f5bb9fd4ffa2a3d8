// Translates a text sentence by sentence. Sentences that were translated before are not sent again, so typing in a
// long text costs one sentence at a time; a newer text aborts the requests of an older one.

import { aborted, post } from "../api.js";
import { splitSentences, trimmed } from "../sentences.js";

const FIRST = 8; // sentences of the first request: something is seen early
const TOGETHER = 32;
const KEPT = 2000; // translated sentences
export const BEST = 4;

/**
 * @typedef {{before: string, text: string, after: string, start: number, result: object | null}} Part
 *   a sentence of the text with the white space around it; start: where its text begins
 */

/** The sentences of a text. @returns {Part[]} */
export function partsOf(text) {
  let at = 0;
  return splitSentences(text).map((part) => {
    const [before, middle, after] = trimmed(part);
    const found = { before, text: middle, after, start: at + before.length, result: null };
    at += part.length;
    return found;
  });
}

const hasLetters = (text) => /[\p{L}\p{N}]/u.test(text);
const unchanged = (text) => ({ translations: [{ text, confidence: 1, words: [] }], copied: true });

export class TranslationEngine {
  #kept = new Map();
  #explained = new Map();
  #running = null;

  /** @param {(source: string, target: string) => boolean} explains whether a model of our own serves this pair */
  constructor(explains) {
    this.explains = explains;
  }

  stop() {
    this.#running?.abort();
    this.#running = null;
  }

  /**
   * Translate a text; `update(parts, done)` is called whenever more of it is there.
   * Resolves to false if a newer text came in between.
   */
  async run(text, source, target, update) {
    this.stop();
    const running = new AbortController();
    this.#running = running;
    const parts = partsOf(text);
    const key = (part) => `${source}\n${target}\n${part.text}`;
    for (const part of parts)
      part.result = hasLetters(part.text) ? (this.#kept.get(key(part)) ?? null) : unchanged(part.text);
    const missing = [...new Set(parts.filter((part) => !part.result).map((part) => part.text))];
    update(parts, !missing.length);
    for (let start = 0, size = FIRST; start < missing.length; start += size, size = start ? TOGETHER : FIRST) {
      const texts = missing.slice(start, start + size);
      let results;
      try {
        results = await this.#request(texts, source, target, running.signal);
      } catch (error) {
        if (aborted(error)) return false;
        throw error;
      }
      texts.forEach((each, i) => this.#keep(`${source}\n${target}\n${each}`, results[i]));
      for (const part of parts) part.result ??= this.#kept.get(key(part)) ?? null;
      update(parts, start + size >= missing.length);
    }
    return true;
  }

  async #request(texts, source, target, signal) {
    if (this.explains(source, target)) {
      const answer = await post("v1/translate", { text: texts, source, target, best: BEST }, signal);
      return answer.results ?? [answer];
    }
    const answer = await post("translate", { q: texts, source, target, format: "text", alternatives: 3 }, signal);
    return answer.translatedText.map((text, i) => ({
      translations: [text, ...(answer.alternatives?.[i] ?? [])].map((each) => ({ text: each, words: [] })),
    }));
  }

  #keep(key, result) {
    if (this.#kept.size >= KEPT) this.#kept.delete(this.#kept.keys().next().value);
    this.#kept.set(key, { ...result, chosen: 0 });
  }

  /** A sentence with its alignment and attention. */
  async explain(text, source, target, signal) {
    const key = `${source}\n${target}\n${text}`;
    if (!this.#explained.has(key)) {
      const found = await post("v1/translate", { text, source, target, best: 1, attention: true }, signal);
      if (this.#explained.size >= 50) this.#explained.clear();
      this.#explained.set(key, found);
    }
    return this.#explained.get(key);
  }
}

/** The translation of a part that is shown: the best one, or the alternative that was chosen. */
export const shownOf = (part) => part.result?.translations[part.result.chosen ?? 0] ?? null;

export const joined = (parts) => parts.map((part) => part.before + (shownOf(part)?.text ?? "") + part.after).join("");

/** One confidence for all sentences: the geometric mean, longer sentences counting more. */
export function jointConfidence(parts) {
  let sum = 0;
  let words = 0;
  for (const part of parts) {
    const shown = shownOf(part);
    if (part.result?.copied || typeof shown?.confidence !== "number" || !(shown.confidence > 0)) continue;
    const count = Math.max(1, shown.words?.length ?? 1);
    sum += Math.log(shown.confidence) * count;
    words += count;
  }
  return words ? Math.exp(sum / words) : null;
}
