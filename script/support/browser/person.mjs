// What a person does on a page of the cloud, and what they see of it.

/** Returns the steps, on pages of a check. */
export function personAt({ until, password }) {
  const text = (page) => page.run(`document.querySelector("main")?.innerText ?? ""`);
  const message = (page) => page.run(`document.getElementById("message")?.textContent ?? ""`);
  const shows = (page, wanted) => until(`the page shows ${wanted}`, async () => (await text(page)).includes(wanted)).catch(async (error) => {
    throw new Error(`${error.message}; it shows: ${await text(page)}`);
  });
  const says = (page, wanted) => until(`the page says ${wanted}`, async () => wanted.test(await message(page))).catch(async (error) => {
    throw new Error(`${error.message}; it says: ${await message(page)}; it shows ${await page.run("location.href")}: ${await text(page)}`);
  });
  const focus = (page) => page.run(`{ const at = document.activeElement; return at.id || at.name || at.textContent || at.tagName }`);
  const key = async (page, name, code) => {
    const event = { key: name, code: name, windowsVirtualKeyCode: code, ...(name === "Enter" ? { text: "\r" } : {}) };
    await page.call("Input.dispatchKeyEvent", { type: "keyDown", ...event });
    await page.call("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  };
  const enter = (page) => key(page, "Enter", 13);
  const tab = (page) => key(page, "Tab", 9);
  const write = (page, words) => page.call("Input.insertText", { text: words });
  const click = (page, selector) => page.run(`document.querySelector(${JSON.stringify(selector)}).click()`);
  const submit = (page, id, values) => page.run(`{
    const form = document.getElementById(${JSON.stringify(id)});
    for (const [name, value] of Object.entries(${JSON.stringify(values)})) form.elements[name].value = value;
    form.requestSubmit();
  }`);
  const signIn = async (page, email, word = password) => {
    await until("the form", () => page.run(`Boolean(document.getElementById("sign-in"))`));
    await submit(page, "sign-in", { email, password: word });
  };
  return { text, message, shows, says, focus, enter, tab, write, click, submit, signIn };
}
