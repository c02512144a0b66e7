// Ben's part of `script/demo shopping`: serves the web app of Examples/Shopping, and uses it in a browser.
//
// node demo-shopping.mjs WELKIN DATA ENDPOINT LINK FOLDER
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { until } from "./people.mjs";
import { startBrowser } from "./web-push/browser.mjs";

const [welkin, data, endpoint, link, folder] = process.argv.slice(2);
const types = { "index.html": "text/html", "shopping.css": "text/css", "shopping.js": "text/javascript" };
const server = createServer((request, response) => {
  const name = new URL(request.url, "http://localhost").pathname.slice(1) || "index.html";
  if (!types[name]) return response.writeHead(404).end();
  response.setHeader("Content-Type", types[name]);
  response.end(readFileSync(fileURLToPath(new URL(`../../Examples/Shopping/Web/${name}`, import.meta.url))));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const origin = `http://localhost:${server.address().port}`;
const { token } = JSON.parse(execFileSync(welkin, ["token", "create", "iCloud.org.welkin.shopping", "--origin", origin, "--data", data, "--json"]));
const browser = startBrowser(`${folder}/browser`, []);

try {
  const page = await browser.open(`${origin}/?${new URLSearchParams({ endpoint, token })}`);
  const isShown = (id) => page.run(`!document.getElementById(${JSON.stringify(id)}).hidden`);
  const send = (form, values) => page.run(`{
    for (const [id, value] of Object.entries(${JSON.stringify(values)})) document.getElementById(id).value = value;
    document.getElementById(${JSON.stringify(form)}).requestSubmit();
  }`);
  const items = () => page.run(`[...document.querySelectorAll("#items li")].map((row) => (row.querySelector("input").checked ? "[x] " : "[ ] ") + row.innerText.trim())`);
  const isSaving = () => page.run(`Boolean(document.querySelector("#items input:disabled"))`);
  const message = () => page.run(`document.getElementById("message").textContent`);
  const arrives = (text) => until(text, async () => {
    const problem = await message();
    if (problem) throw new Error(problem);
    return !(await isSaving()) && (await items()).includes(text);
  });
  const show = async () => { for (const item of await items()) console.log(`     ${item}`); };

  await until("the button to sign in", () => isShown("sign-in"));
  await page.run(`document.getElementById("sign-in").click()`);
  const { targetId } = await until("the window of the cloud", async () =>
    (await browser.send("Target.getTargets")).targetInfos.find(({ url }) => url.startsWith(`${endpoint}/sign-in?`)));
  const window = await browser.attach(targetId);
  await until("the window's question", () => window.run(`document.readyState === "complete" && !document.getElementById("keys").hidden`));
  await window.run(`{
    const form = document.getElementById("sign-in");
    form.elements.email.value = "ben@example.com";
    form.elements.password.value = "correct horse battery";
    form.elements.keys.click();
    form.requestSubmit();
  }`);
  await until("the form to join", () => isShown("join"));
  console.log("   ben signed in, in a window of the cloud, and let the page have keys");
  await send("join", { link });
  await arrives("[ ] Milk");
  console.log("   he opened the link, and sees");
  await show();
  await send("add", { item: "Eggs" });
  await arrives("[ ] Eggs");
  await page.run(`[...document.querySelectorAll("#items label")].find((row) => row.innerText.trim() === "Bread").click()`);
  await arrives("[x] Bread");
  console.log("   he added eggs, and ticked off the bread");
  await show();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  const ended = new Promise((done) => browser.process.once("exit", done));
  browser.process.kill();
  await ended;
  server.close();
}
process.exit();
