// The REST API with the token that was signed in with.

const BASE = "api/admin";
const TOKEN = "assay.token";
const LOOKS_AGAIN = 2;
const LONGEST_WAIT_S = 10;

/** A refusal, in the API's own shape; `NETWORK` when there was no answer at all. */
export class ApiError extends Error {
  constructor(status, problem, retryAfter = 0) {
    super(problem.message);
    this.status = status;
    this.retryAfter = retryAfter;
    this.code = problem.code;
    this.details = problem.details ?? {};
  }
}

export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (value) => sessionStorage.setItem(TOKEN, value),
  clear: () => sessionStorage.removeItem(TOKEN),
};

/** Told when a token is no longer accepted. */
export const signedOut = new EventTarget();

/** The answer to a request that succeeded. Throws ApiError, or AbortError when `signal` says so. */
export async function send(method, path, { query, json, body, headers, signal } = {}) {
  const asked = { ...headers };
  if (token.get()) asked.Authorization ??= `Bearer ${token.get()}`;
  if (json !== undefined) asked["Content-Type"] = "application/json";
  // The same press of a button sent twice by a flaky connection takes effect once.
  if (method === "POST") asked["Idempotency-Key"] = randomKey();
  const content = json === undefined ? body : JSON.stringify(json);
  let response;
  try {
    response = await fetch(address(path, query), { method, headers: asked, body: content, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { code: "NETWORK", message: error.message });
  }
  if (response.ok) return response;
  const problem = await refusal(response);
  if (problem.status === 401) signedOut.dispatchEvent(new Event("signed-out"));
  throw problem;
}

/** What `path` answers. While a part of Assay is away it asks again, when it was told to. */
export async function get(path, options) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await (await send("GET", path, options)).json();
    } catch (error) {
      if (error.status !== 503 || tries === LOOKS_AGAIN) throw error;
      const wait = Math.min(error.retryAfter || 1, LONGEST_WAIT_S);
      await new Promise((resolve) => setTimeout(resolve, wait * 1000));
    }
  }
}

export async function post(path, options) {
  return (await send("POST", path, options)).json();
}

/** Save what `path` answers as a file. */
export async function download(path, filename, options) {
  const response = await send("GET", path, options);
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = filename;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value != null);
  const text = new URLSearchParams(given).toString();
  return `${BASE}/${path}${text ? `?${text}` : ""}`;
}

async function refusal(response) {
  try {
    const problem = await response.json();
    const retryAfter = Number(response.headers.get("Retry-After")) || 0;
    if (problem.code && problem.message) return new ApiError(response.status, problem, retryAfter);
  } catch {
    // Not from the gateway: a proxy before it, perhaps.
  }
  const message = `HTTP ${response.status} ${response.statusText}`;
  return new ApiError(response.status, { code: "NETWORK", message });
}

function randomKey() {
  // Not randomUUID, which plain HTTP to another machine does not have.
  const numbers = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(numbers, (each) => each.toString(16).padStart(2, "0")).join("");
}
