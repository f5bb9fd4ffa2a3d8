// Numbers as a reader wants them.

export const whole = (value) => Math.round(value).toLocaleString("en");

export const percent = (value, digits = 0) => `${(100 * value).toFixed(digits)} %`;

/** A probability with a decimal; never a 0 or a 1 that only rounding made. */
export function probability(value) {
  if (value > 0 && value < 0.0005) return "< 0.1 %";
  if (value < 1 && value > 0.9995) return "> 99.9 %";
  return percent(value, 1);
}

/** Few significant digits, no noise: 0.0123, 4.57, 1,204. */
export function plain(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 1e-4 || size >= 1e15) return value.toExponential(1);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  if (size >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 1 });
  return String(Number(value.toPrecision(size >= 1 ? 4 : 3)));
}

/** 357213 -> 357 k, 1166966 -> 1.17 M. */
export function short(value) {
  for (const [unit, size] of [
    ["G", 1e9],
    ["M", 1e6],
    ["k", 1e3],
  ]) {
    if (value >= size) return `${Number((value / size).toPrecision(3))} ${unit}`;
  }
  return String(value);
}

export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** "1 word", "2 words". */
export const counted = (count, noun) => `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;

/** Round positions for an axis from low to high. */
export function ticks(low, high, count = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((each) => each >= rough);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1)
    found.push(Number((i * step).toPrecision(12)));
  return found;
}
