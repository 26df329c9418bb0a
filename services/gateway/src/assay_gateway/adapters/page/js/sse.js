// Server-sent events with a token, which EventSource cannot send.

import { ApiError, send } from "./api.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

/**
 * Call `heard(event, data)` for every event until it answers true, `signal` aborts, or the API
 * refuses, which is thrown. A connection that breaks is made anew from where it was;
 * `connected(yes)` tells.
 */
export async function follow(path, { signal, heard, connected = () => {} }) {
  let lastId = null;
  let wait = FIRST_WAIT_MS;
  while (!signal.aborted) {
    try {
      const headers = { Accept: "text/event-stream", ...(lastId && { "Last-Event-ID": lastId }) };
      const response = await send("GET", path, { headers, signal });
      connected(true);
      // It has ended, and we have seen how.
      if (response.status === 204) return;
      for await (const event of events(response.body)) {
        wait = FIRST_WAIT_MS;
        lastId = event.id ?? lastId;
        if (event.data !== null && heard(event.name, JSON.parse(event.data))) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status !== 0 && error.status !== 503) throw error;
    }
    connected(false);
    await pause(wait, signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let unread = "";
  let event = blank();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (unread + value).split("\n");
      unread = lines.pop();
      for (const line of lines.map((each) => each.replace(/\r$/, ""))) {
        if (line !== "") {
          take(event, line);
          continue;
        }
        yield event;
        event = blank();
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

const blank = () => ({ id: null, name: "message", data: null });

function take(event, line) {
  const colon = line.indexOf(":");
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
  if (name === "id") event.id = value;
  if (name === "event") event.name = value;
  if (name === "data") event.data = event.data === null ? value : `${event.data}\n${value}`;
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
    signal.addEventListener("abort", resolve, { once: true });
  });
}
