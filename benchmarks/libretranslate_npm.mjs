// Calls of the npm packages for LibreTranslate, run by benchmarks/libretranslate.py; prints what they give.
import * as whole from "libretranslate";
import { libreTranslate } from "libretranslate-ts";
import translate from "translate";
const url = process.argv[2], text = "The plant is green.", found = {};
const run = async (name, call) => {
  try {
    found[name] = await call();
  } catch (error) {
    found[name] = { thrown: error.message };
  }
};
const one = whole.translate ?? whole.default.translate;
await run("libretranslate: translate", () => one({ query: text, source: "en", target: "es", apiurl: url }));
await run("libretranslate: auto", () => one({ query: text, target: "es", apiurl: url }));
libreTranslate.setApiEndpoint(url);
await run("libretranslate-ts: listLanguages", () => libreTranslate.listLanguages());
await run("libretranslate-ts: detect", () => libreTranslate.detect(text));
await run("libretranslate-ts: translate", () => libreTranslate.translate(text, "en", "es", 2));
await run("libretranslate-ts: an unknown language", () => libreTranslate.translate(text, "en", "zz"));
translate.engine = "libre"; translate.url = url + "/translate";
await run("translate: translate", () => translate(text, { from: "en", to: "es" }));
await run("translate: an unserved language", () => translate(text, { from: "en", to: "fr" }));
console.log(JSON.stringify(found));
