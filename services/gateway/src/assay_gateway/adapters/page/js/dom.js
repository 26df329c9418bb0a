// The only way this page makes elements. Text stays text: there is no path from a string to markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element. `props`: attributes, `class`, `on: {event: handler}`; null and false leave one out. */
export function h(tag, props, ...children) {
  return filled(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    } else if (name.startsWith("on") || name === "style" || name === "srcdoc") {
      throw new TypeError(`${name} is not for attributes`);
    } else if (name === "href" && !value.startsWith("#")) {
      throw new TypeError("links lead to places of this page");
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  add(element, children);
  return element;
}

/** Append nodes and text; lists are flattened, null and false are left out. */
export function add(parent, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) parent.append(child);
  }
  return parent;
}

export function replace(parent, ...children) {
  parent.replaceChildren();
  return add(parent, children);
}

const ICONS = {
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  alert: "M8 2 15 14H1zM8 6.5v3.5M8 12v.2",
  clock: "M8 4v4l2.5 2M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13",
  dash: "M3.5 8h9",
  back: "M3 8h7a3 3 0 0 1 0 6H7M6 5 3 8l3 3",
  run: "M8 1.5a6.5 6.5 0 1 0 6.5 6.5",
  up: "M8 12V3M4 6.5 8 2.5l4 4M2.5 13.5h11",
  down: "M8 2v8M4 7l4 4 4-4M2.5 13.5h11",
  note: "M8 7v4.5M8 4.5v.2M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
};

/** Decoration beside words that say the same. */
export function icon(name) {
  return svg(
    "svg",
    { class: `icon icon-${name}`, viewBox: "0 0 16 16", "aria-hidden": "true" },
    svg("path", { d: ICONS[name] }),
  );
}
