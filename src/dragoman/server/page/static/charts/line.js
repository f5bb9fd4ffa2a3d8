// A small line chart in SVG: axes with round numbers, a band, a legend, and a tooltip for pointer and keyboard.

import { h, s } from "../dom.js";
import { plain, ticks } from "../numbers.js";

const MARGIN = { left: 52, right: 14, top: 12, bottom: 30 };

/**
 * @typedef {{name: string, color: number, points: [number, number][], dashed?: boolean,
 *   band?: [number, number, number][]}} Series  points are [x, y], a band is [x, low, high]
 * @typedef {{title: string, series: Series[], xLabel: string, height?: number, format?: (y: number) => string,
 *   labelOf?: (x: number) => string, mark?: number, zero?: boolean}} Chart
 */

/** @param {Chart} chart @returns {HTMLElement} a figure that draws itself anew when its width changes */
export function lineChart(chart) {
  const tooltip = h("div", { class: "tooltip", hidden: true, "aria-live": "polite" });
  const place = h("div", { class: "chart-place" });
  const figure = h(
    "figure",
    { class: "chart" },
    h("figcaption", null, h("span", { class: "chart-title" }, chart.title), legend(chart.series)),
    place,
    tooltip,
  );
  let width = 0;
  new ResizeObserver(([entry]) => {
    if (Math.abs(entry.contentRect.width - width) < 1) return;
    width = entry.contentRect.width;
    if (width > 60) place.replaceChildren(draw(chart, width, tooltip));
  }).observe(place);
  return figure;
}

function legend(series) {
  if (series.length < 2 && !series[0]?.band) return null;
  return h(
    "span",
    { class: "chart-legend" },
    series.map((each) => h("span", { class: `key series-${each.color}${each.dashed ? " dashed" : ""}` }, each.name)),
  );
}

function range(values, zero) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0, 1];
  if (zero) low = Math.min(0, low);
  if (low === high) return [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  const space = (high - low) * 0.05;
  return [zero && low === 0 ? 0 : low - space, high + space];
}

function draw(chart, width, tooltip) {
  const height = chart.height ?? 220;
  const { left, right, top, bottom } = MARGIN;
  const xs = chart.series.flatMap((each) => each.points.map(([x]) => x));
  const ys = chart.series.flatMap((each) => [
    ...each.points.map(([, y]) => y),
    ...(each.band ?? []).flatMap(([, a, b]) => [a, b]),
  ]);
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const [y0, y1] = range(ys, chart.zero);
  const x = (value) => left + (x1 > x0 ? (value - x0) / (x1 - x0) : 0.5) * (width - left - right);
  const y = (value) => height - bottom - ((value - y0) / (y1 - y0)) * (height - top - bottom);
  const svg = s("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    tabindex: "0",
    role: "img",
    "aria-label": `${chart.title}. ${summary(chart)} Arrow keys read single values.`,
  });
  svg.append(axes(chart, { x, y, x0, x1, y0, y1, width, height }));
  for (const each of chart.series) {
    if (each.band?.length) svg.append(s("path", { class: `band series-${each.color}`, d: area(each.band, x, y) }));
    svg.append(
      s("path", { class: `line series-${each.color}${each.dashed ? " dashed" : ""}`, d: path(each.points, x, y) }),
    );
    if (each.points.length === 1)
      svg.append(
        s("circle", { class: `dot series-${each.color}`, r: 3.5, cx: x(each.points[0][0]), cy: y(each.points[0][1]) }),
      );
  }
  watch(svg, chart, { x, y, width, height }, tooltip);
  return svg;
}

const wholeSteps = (chart) => chart.series.every((each) => each.points.every(([x]) => Number.isInteger(x)));

function summary(chart) {
  return chart.series
    .filter((each) => each.points.length)
    .map((each) => {
      const [first, last] = [each.points[0], each.points.at(-1)];
      return `${each.name} from ${plain(first[1])} to ${plain(last[1])}.`;
    })
    .join(" ");
}

function axes(chart, { x, y, x0, x1, y0, y1, width, height }) {
  const format = chart.format ?? plain;
  const label = chart.labelOf ?? plain;
  const group = s("g", { class: "axes" });
  for (const value of ticks(y0, y1, 4)) {
    group.append(
      s("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }),
      s("text", { x: MARGIN.left - 8, y: y(value) + 4, "text-anchor": "end" }, format(value)),
    );
  }
  const found = ticks(x0, x1, Math.max(2, Math.floor(width / (chart.labelOf ? 130 : 90)))).filter(
    (value) => Number.isInteger(value) || !(chart.labelOf || wholeSteps(chart)),
  );
  for (const value of found) {
    const near = x(value) > width - 44 ? "end" : x(value) < MARGIN.left + 16 ? "start" : "middle";
    group.append(s("text", { x: x(value), y: height - 10, "text-anchor": near }, label(value)));
  }
  if (chart.xLabel)
    group.append(
      s("text", { class: "axis-name", x: MARGIN.left - 8, y: height - 10, "text-anchor": "end" }, chart.xLabel),
    );
  if (chart.mark !== undefined)
    group.append(
      s("line", { class: "divide", x1: x(chart.mark), x2: x(chart.mark), y1: MARGIN.top, y2: height - MARGIN.bottom }),
    );
  return group;
}

/** Lines through points; a missing value leaves a gap. */
function path(points, x, y) {
  let pen = "M";
  let found = "";
  for (const [a, b] of points) {
    if (!Number.isFinite(b)) {
      pen = "M";
      continue;
    }
    found += `${pen}${x(a).toFixed(1)} ${y(b).toFixed(1)}`;
    pen = "L";
  }
  return found;
}

function area(band, x, y) {
  const known = band.filter(([, low, high]) => Number.isFinite(low) && Number.isFinite(high));
  if (!known.length) return "";
  const there = known.map(([a, , high]) => [a, high]);
  const back = known.map(([a, low]) => [a, low]).reverse();
  return `${path([...there, ...back], x, y)}Z`;
}

const between = (band) => (band && Number.isFinite(band[1]) ? ` (${plain(band[1])} to ${plain(band[2])})` : "");

/** Read values where the pointer is, or where arrow keys go. */
function watch(svg, chart, { x, y, width, height }, tooltip) {
  const all = [...new Set(chart.series.flatMap((each) => each.points.map(([a]) => a)))].sort((a, b) => a - b);
  const cursor = s("line", { class: "cursor", y1: MARGIN.top, y2: height - MARGIN.bottom, visibility: "hidden" });
  const dots = s("g", null);
  svg.append(cursor, dots);
  let at = -1;
  const show = (index) => {
    at = Math.max(0, Math.min(all.length - 1, index));
    const here = all[at];
    const values = chart.series
      .map((each) => [
        each,
        each.points.find(([a, b]) => a === here && Number.isFinite(b)),
        each.band?.find(([a]) => a === here),
      ])
      .filter(([, point]) => point);
    cursor.setAttribute("x1", x(here));
    cursor.setAttribute("x2", x(here));
    cursor.setAttribute("visibility", "visible");
    dots.replaceChildren(
      ...values.map(([each, point]) =>
        s("circle", { class: `dot series-${each.color}`, r: 4, cx: x(here), cy: y(point[1]) }),
      ),
    );
    tooltip.replaceChildren(
      h("b", null, `${chart.labelOf ? "" : `${chart.xLabel} `}${(chart.labelOf ?? plain)(here)}`),
      ...values.map(([each, point, band]) =>
        h(
          "span",
          { class: `key series-${each.color}` },
          `${each.name}: ${(chart.format ?? plain)(point[1])}${between(band)}`,
        ),
      ),
    );
    tooltip.hidden = false;
    tooltip.classList.toggle("left", x(here) > width / 2);
    tooltip.style.setProperty("--x", `${x(here)}px`);
  };
  const hide = () => {
    tooltip.hidden = true;
    cursor.setAttribute("visibility", "hidden");
    dots.replaceChildren();
  };
  const nearest = (event) => {
    const place = event.clientX - svg.getBoundingClientRect().left;
    let best = 0;
    all.forEach((value, i) => {
      if (Math.abs(x(value) - place) < Math.abs(x(all[best]) - place)) best = i;
    });
    show(best);
  };
  svg.addEventListener("pointermove", nearest);
  svg.addEventListener("pointerdown", nearest);
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at < 0 ? all.length - 1 : at - 1, Home: 0, End: all.length - 1 }[
      event.key
    ];
    if (to === undefined) return;
    event.preventDefault();
    show(to);
  });
}
