/** Elements of the pages of the cloud: made with their content, and off while what they began is under way. */

/** An element with its content. */
export function element(name, properties = {}, ...content) {
  const { label, ...rest } = properties;
  const made = Object.assign(document.createElement(name), rest);
  if (label) made.setAttribute("aria-label", label);
  made.append(...content);
  return made;
}

export const section = (id, title, ...content) => element("section", { id, label: title }, element("h2", { textContent: title, tabIndex: -1 }), ...content);

/** Replaces what a section has below its title. */
export function fill(id, ...content) {
  const part = document.getElementById(id);
  part?.replaceChildren(part.querySelector("h2"), ...content);
}

/** Elements that act; `fail` shows the person what went wrong. */
export function acting(fail) {
  /** Does a step, with its control off meanwhile. */
  async function attempt(control, act) {
    control.disabled = true;
    try {
      await act();
    } catch (error) {
      fail(error);
    }
    control.disabled = false;
  }

  function button(text, act, properties = {}) {
    const made = element("button", { type: "button", textContent: text, ...properties });
    made.addEventListener("click", () => attempt(made, act));
    return made;
  }

  function form(id, text, fields, act) {
    const submit = element("button", { type: "submit", textContent: text });
    const made = element("form", { id }, ...fields.map(([label, properties]) => element("label", {}, label, element("input", { required: true, ...properties }))), submit);
    made.addEventListener("submit", (event) => {
      event.preventDefault();
      attempt(submit, () => act(made.elements));
    });
    return made;
  }

  return { button, form };
}

export const date = (milliseconds) => new Date(milliseconds).toLocaleDateString(undefined, { dateStyle: "medium" });
export const time = (milliseconds) => new Date(milliseconds).toLocaleTimeString(undefined, { timeStyle: "short" });

export function size(bytes) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  for (; value >= 1000 && unit < units.length - 1; unit += 1) value /= 1000;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
