// Which words of two sentences differ: the longest common run of words stays unmarked.

/** @returns {[[string, boolean][], [string, boolean][]]} for each text its runs, and whether they are only there */
export function differences(a, b) {
  const [left, right] = [a, b].map((text) => text.match(/\s+|[\p{L}\p{N}_'’]+|./gu) ?? []);
  const common = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      common[i][j] = left[i] === right[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const [first, second] = [[], []];
  const add = (runs, text, differs) => {
    const marked = differs && text.trim() !== "";
    if (runs.length && runs.at(-1)[1] === marked) runs.at(-1)[0] += text;
    else runs.push([text, marked]);
  };
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      add(first, left[i++], false);
      add(second, right[j++], false);
    } else if (j >= right.length || (i < left.length && common[i + 1][j] >= common[i][j + 1]))
      add(first, left[i++], true);
    else add(second, right[j++], true);
  }
  return [first, second];
}
