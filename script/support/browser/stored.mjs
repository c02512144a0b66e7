// What the cloud has of the secrets that were typed, shown and kept in browsers: nothing, in its store, its files and its log.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Every file of a folder with its bytes as Latin-1 text.
 *
 * A cloud that runs replaces files by renaming drafts: when a listed file is gone, the folder is listed again, so that no name is missed.
 */
export function filesOf(folder) {
  for (let attempt = 1; ; attempt++) {
    try {
      const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      return entries.map((entry) => join(entry.parentPath ?? entry.path, entry.name)).map((name) => ({ name, text: readFileSync(name).toString("latin1") }));
    } catch (error) {
      if (error.code !== "ENOENT" || attempt === 100) throw error;
    }
  }
}

/** The forms in which a text could be stored or logged. */
function formsOf(text) {
  const bytes = Buffer.from(text);
  // Base 64 of the text behind none, one and two other bytes, without the letters that these share.
  const base64 = [0, 1, 2].map((shift) => Buffer.concat([Buffer.alloc(shift), bytes]).toString("base64").slice(shift ? 4 : 0).replace(/=+$/, "").slice(0, -1));
  return [bytes.toString("latin1"), encodeURIComponent(text), ...base64, bytes.toString("hex"), Buffer.from(text, "utf16le").toString("latin1")];
}

/** Searches what a stopped cloud has left behind. */
export function checkStored({ assert, folder, logFile, say, secrets, seen }) {
  const log = { name: logFile, text: readFileSync(logFile).toString("latin1") };
  const places = [...filesOf(join(folder, "data")), log].map(({ name, text }) => ({ name: name.slice(folder.length + 1), text }));
  const has = (secret) => places.filter(({ text }) => formsOf(secret).some((form) => text.includes(form))).map(({ name }) => name);
  // The search finds what is there: the path of a request in the log, and names of zones in the store.
  assert.ok(["records/modify", "approvals/create"].some((path) => has(path).includes("log")), "the log has the requests");
  if (seen.requests.some(({ body }) => body.includes(`"zoneName":"Notes"`))) assert.ok(has("Notes").some((name) => name.includes("data/")), "the store has the zones");
  for (const secret of secrets) assert.deepEqual(has(secret), [], "a secret is in what the cloud keeps");
  // Titles of shares are no secret of the cloud, which shows them to the people of a link; the log has none.
  for (const title of ["From the browser", "Shared party"]) assert.ok(!has(title).includes("log"), "the log has the title of a share");
  const size = places.reduce((total, { text }) => total + text.length, 0);
  say(`none of ${secrets.size} secrets is in ${places.length} files of the cloud (${Math.round(size / 1000)} kB, its log among them)`);
}
