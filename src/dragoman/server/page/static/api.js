// Requests to the server this page came from, and what their failures mean in plain words.

const KEY = "dragoman-api-key";

let memory = "";

/** The API key; kept until the tab is closed. */
export const apiKey = {
  get value() {
    try {
      return sessionStorage.getItem(KEY) ?? memory;
    } catch {
      return memory;
    }
  },
  set value(text) {
    memory = text;
    try {
      if (text) sessionStorage.setItem(KEY, text);
      else sessionStorage.removeItem(KEY);
    } catch {
      // storage may be switched off: the key lives as long as the page
    }
  },
};

/** A request that failed. `status` 0: the server could not be reached. */
export class ApiError extends Error {
  constructor(status, detail, wait = null) {
    super(plainWords(status, detail, wait));
    this.status = status;
    this.detail = detail;
    this.wait = wait;
  }

  /** Whether the same request may succeed later. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

function plainWords(status, detail, wait) {
  const when = wait ? ` Try again in ${wait} second${wait === 1 ? "" : "s"}.` : " Try again in a moment.";
  if (status === 0)
    return navigator.onLine === false ? "You are offline." : "The server cannot be reached. Is it still running?";
  if (status === 429) return `Too many requests at once.${when}`;
  if (status === 503) return `The server is busy or just starting.${when}`;
  if (status === 413) return `That is too much for one request. ${detail}`;
  if (status === 504 || status === 408) return `This took too long, so the server gave up.${when}`;
  if (status === 401 || status === 403) return `The server refused this: ${detail || "a valid API key is needed"}`;
  if (status >= 500) return `The server had a problem.${when}`;
  return detail || `The server answered with status ${status}.`;
}

const address = (path) => new URL(path, document.baseURI);

async function send(path, options = {}) {
  const headers = new Headers(options.headers);
  if (apiKey.value) headers.set("Authorization", `Bearer ${apiKey.value}`);
  let response;
  try {
    response = await fetch(address(path), { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  const wait = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  throw new ApiError(
    response.status,
    typeof body.error === "string" ? body.error : "",
    Number.isNaN(wait) ? null : wait,
  );
}

async function readJson(response) {
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "");
  }
}

export const get = async (path, signal) => readJson(await send(path, { signal }));

const jsonOptions = (body, signal) => ({
  method: "POST",
  signal,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(apiKey.value ? { ...body, api_key: apiKey.value } : body),
});

export const post = async (path, body, signal) => readJson(await send(path, jsonOptions(body, signal)));

/** Send fields and files. */
export async function upload(path, fields, signal) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  if (apiKey.value) form.append("api_key", apiKey.value);
  return readJson(await send(path, { method: "POST", body: form, signal }));
}

/** Fetch a file that the server made. Its host may be named differently there, so only the path counts. */
export async function download(url, signal) {
  const found = new URL(url, document.baseURI);
  const folder = address(".").pathname;
  const path = found.pathname.startsWith(folder) ? found.pathname : folder + found.pathname.slice(1);
  return (await send(path + found.search, { signal })).blob();
}

/** The events of a streamed answer, as objects. */
export async function* stream(path, body, signal) {
  const response = await send(path, jsonOptions(body, signal));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { done, value } = await reader.read();
    waiting = (waiting + (value ?? "")).replaceAll("\r\n", "\n");
    const events = waiting.split("\n\n");
    waiting = events.pop();
    for (const event of events) {
      const data = event
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).trim());
      if (data.length) yield JSON.parse(data.join("\n"));
    }
    if (done) return;
  }
}

export const aborted = (error) => error?.name === "AbortError";
