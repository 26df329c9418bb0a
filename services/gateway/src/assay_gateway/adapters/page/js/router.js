// Places of the page, by what follows the # of the address.

import { h, replace } from "./dom.js";
import { token } from "./api.js";
import { keepingFocus, loading, problem } from "./ui.js";

const SLOW_MS = 250;

let outlet = null;
let routes = [];
let current = new AbortController();
let arrived = () => {};

/** `table`: pairs of a pattern and a view. A view is called with the place and gives its content. */
export function start(element, table, onArrival) {
  [outlet, routes, arrived] = [element, table, onArrival];
  addEventListener("hashchange", () => show({ moved: true }));
}

export function go(hash) {
  if (location.hash === hash) show({ moved: true });
  else location.hash = hash;
}

/** Remember in the address what is shown, without going anywhere. */
export function note(hash) {
  history.replaceState(null, "", hash);
}

/** Show the present place, after a change of language or of what is known. */
export async function show({ moved = false } = {}) {
  // Nobody is signed in: what is shown is the way in, and it stays.
  if (!token.get()) return;
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const [path, query] = (location.hash.slice(1) || "/skills").split("?");
  const found = routes.map(([pattern, view]) => [path.match(pattern), view]).find(([hit]) => hit);
  const [match, view] = found;
  // What is only shown anew stays in sight, and keeps the focus, until it is there.
  const waiting = moved || !outlet.hasChildNodes();
  const slow = setTimeout(() => waiting && replace(outlet, loading()), SLOW_MS);
  outlet.setAttribute("aria-busy", "true");
  let content;
  try {
    const place = { params: match.slice(1), query: new URLSearchParams(query), signal };
    content = await view(place);
  } catch (error) {
    if (signal.aborted || error.status === 401) return;
    const again = () => show({ moved: true });
    content = [h("h1", { class: "unseen" }, error.code ?? error.name), problem(error, again)];
    if (!error.code) console.error(error);
  } finally {
    clearTimeout(slow);
  }
  if (signal.aborted) return;
  let heading;
  keepingFocus(outlet, () => {
    replace(outlet, content);
    heading = outlet.querySelector("h1");
    heading.tabIndex = -1;
  });
  outlet.removeAttribute("aria-busy");
  document.title = `${heading.textContent} · Assay`;
  arrived(path);
  if (moved) {
    heading.focus();
    scrollTo(0, 0);
  }
}

export function leave() {
  current.abort();
}
