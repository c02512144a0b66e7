// A tab with a panel, used by the keyboard and looked at.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { until } from "../people.mjs";

/** A tab of the browser, used by keyboard. */
export async function openTab(browser, address) {
  const problems = [];
  const requests = [];
  const page = await browser.open(address, {
    prepare: async (call) => { for (const domain of ["Runtime", "Log", "Network"]) await call(`${domain}.enable`); },
    watch: ({ method, params }) => {
      if (method === "Runtime.exceptionThrown") problems.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      if (method === "Log.entryAdded" && params.entry.level === "error") problems.push(params.entry.text);
      if (method === "Network.requestWillBeSent") requests.push(params.request.url);
    },
  });
  const keys = { Tab: 9, Enter: 13, " ": 32, ArrowDown: 40, ArrowUp: 38, Escape: 27, Home: 36 };
  const tab = {
    ...page, problems, requests,
    async press(key, modifiers = 0) {
      const text = { Enter: "\r", " ": " " }[key];
      const common = { key, code: key === " " ? "Space" : key, windowsVirtualKeyCode: keys[key], modifiers };
      await page.call("Input.dispatchKeyEvent", { ...common, type: text ? "keyDown" : "rawKeyDown", text });
      await page.call("Input.dispatchKeyEvent", { ...common, type: "keyUp" });
    },
    type: (text) => page.call("Input.insertText", { text }),
    focused: () => page.run("document.activeElement.id"),
    /** Goes on with Tab until an element has the focus, which has to be seen. */
    async reach(id) {
      for (let step = 0; step < 80; step += 1) {
        const focused = await tab.focused();
        if (typeof id === "string" ? focused === id : id.test(focused)) {
          assert.ok(await page.run("getComputedStyle(document.activeElement).outlineStyle !== 'none'"), `the focus on ${focused} cannot be seen`);
          return;
        }
        await tab.press("Tab");
      }
      throw new Error(`${id} cannot be reached by keyboard`);
    },
    text: () => page.run("document.body.innerText"),
    shows: (text) => until(`the panel shows ${text}`, async () => (await tab.text()).includes(text)).catch(async (error) => {
      throw new Error(`${error.message}; it shows: ${await tab.text()}`);
    }),
  };
  return tab;
}

/** Returns a function that looks at the panel in all sizes and colours, and checks what a screen reader needs; `pictures` is a folder. */
export const looking = (pictures, say) => async (tab, name) => {
  for (const width of [1280, 390]) {
    for (const scheme of ["light", "dark"]) {
      await tab.call("Emulation.setDeviceMetricsOverride", { width, height: 800, deviceScaleFactor: 1, mobile: width < 500 });
      await tab.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
      const overflow = await tab.run("document.documentElement.scrollWidth - document.documentElement.clientWidth");
      assert.ok(overflow <= 0, `${name} is ${overflow} pixels too wide at ${width}`);
      assert.deepEqual(await tab.run(`(${findings})()`), [], `${name} at ${width}, ${scheme}`);
      if (!pictures) continue;
      const height = Math.max(800, Math.min(2400, await tab.run("document.documentElement.scrollHeight")));
      const { data } = await tab.call("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip: { x: 0, y: 0, width, height, scale: 1 } });
      writeFileSync(`${pictures}/${name}-${width}-${scheme}.png`, Buffer.from(data, "base64"));
    }
  }
  await tab.call("Emulation.setDeviceMetricsOverride", { width: 1280, height: 800, deviceScaleFactor: 1, mobile: false });
  assert.deepEqual(tab.problems, [], name);
  say(`looked at ${name}`);
};

/** Runs in the page: what people with little sight, or none, would miss. */
function findings() {
  const found = [];
  const isSeen = (element) => element.getClientRects().length > 0;
  for (const field of document.querySelectorAll("input, select, textarea")) {
    if (isSeen(field) && !field.labels?.length && !field.getAttribute("aria-label")) found.push(`no label: ${field.id}`);
  }
  for (const button of document.querySelectorAll("button, summary, select, input")) {
    if (!isSeen(button)) continue;
    const box = (button.closest("label") ?? button).getBoundingClientRect();
    if (box.height < 44) found.push(`only ${box.height} pixels high: ${button.id || button.innerText}`);
    if (button.tagName === "BUTTON" && !button.innerText.trim()) found.push(`a button without text: ${button.id}`);
  }
  if (document.querySelectorAll("h1").length !== 1 || !document.querySelector("main") || !document.documentElement.lang) found.push("no landmarks");
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`twice: #${id}`);
  for (const each of document.querySelectorAll("[aria-describedby], [aria-labelledby]")) {
    const id = each.getAttribute("aria-describedby") ?? each.getAttribute("aria-labelledby");
    if (!document.getElementById(id)) found.push(`nothing is #${id}`);
  }
  const luminance = (colour) => {
    const parts = colour.match(/[\d.]+/g).slice(0, 3).map((part) => { const value = part / 255; return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (!/, 0\)$/.test(colour)) return colour;
    }
    return getComputedStyle(document.documentElement).backgroundColor;
  };
  for (const element of document.querySelectorAll("body *")) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) || (element.tagName === "INPUT" && element.value);
    if (!hasText || !isSeen(element)) continue;
    const [one, other] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) found.push(`contrast ${contrast.toFixed(2)}: ${element.innerText.slice(0, 30)}`);
  }
  return [...new Set(found)];
}
