// Fills a container, follows the links of the Console from its first page, and times each page that it finds.
//
// node console-pages.mjs WELKIN RECORDS
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { People } from "../script/support/people.mjs";

const count = Number(process.argv[3]);
const container = "iCloud.com.example.app";
const people = new People(resolve(process.argv[2]), undefined, container);
const place = `/console/containers/${container}/development`;
const targets = { first: 100, any: 300, bytes: 100_000 };

/** Saves half of the records in the public database, the others in a zone of a user. */
async function fill(base) {
  people.add("ada");
  const tokens = people.tokens("ada");
  const ask = async (database, endpoint, body) => {
    const answer = await fetch(`${base}/database/1/${container}/development/${database}/${endpoint}?${tokens}`, { method: "POST", body: JSON.stringify(body) });
    const text = await answer.text();
    assert.ok(answer.status === 200 && !text.includes("serverErrorCode"), text.slice(0, 500));
    return JSON.parse(text);
  };
  const batch = (first) => Array.from({ length: 200 }, (_, index) => first + index).map((number) => ({
    operationType: "create",
    record: {
      // Not in the order of their names.
      recordName: `city-${(BigInt(number) * 0x9E3779B97F4A7C15n & 0xFFFFFFFFFFFFFFFFn).toString(16)}`, recordType: `City${number % 3}`,
      fields: {
        name: { value: `City ${number}`, type: "STRING" }, population: { value: number * 7919 % 1_000_003, type: "INT64" },
        founded: { value: 1_700_000_000_000 + number, type: "TIMESTAMP" },
      },
    },
  }));
  await ask("private", "zones/modify", { operations: [{ operationType: "create", zone: { zoneID: { zoneName: "Cities" } } }] });
  for (let type = 0; type < 3; type += 1) {
    await ask("public", "records/modify", { operations: [{ operationType: "create", record: { recordName: `first-${type}`, recordType: `City${type}`, fields: {} } }] });
  }
  let next = 0;
  const work = async () => {
    while (next < count) {
      const first = next;
      next += 200;
      const isPublic = first % 400 === 0;
      await ask(isPublic ? "public" : "private", "records/modify", { operations: batch(first), zoneID: isPublic ? undefined : { zoneName: "Cities" } });
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  for (let type = 0; type < 3; type += 1) people.operator("schema", "index", container, `City${type}`, "recordName", "--queryable");
  return (await ask("private", "users/caller", {})).userRecordName;
}

async function main() {
  await people.start();
  const { base } = people;
  const begin = performance.now();
  const user = await fill(base);
  console.log(`${count} records saved in ${Math.round((performance.now() - begin) / 1000)} s`);

  const token = people.operator("admin", "token", "create", "--name", "pages").match(/[0-9a-f]{64}/)[0];
  const signIn = await fetch(`${base}/console/sign-in`, {
    method: "POST", redirect: "manual", body: new URLSearchParams({ token }), headers: { Origin: base },
  });
  const cookie = signIn.headers.get("set-cookie")?.split(";")[0];
  assert.ok(cookie, `no session: ${signIn.status}`);
  const read = async (path, body = undefined) => {
    const before = performance.now();
    const answer = await fetch(base + path,
      { method: body ? "POST" : "GET", body, headers: { Cookie: cookie, Origin: base }, redirect: "manual" });
    const text = await answer.text();
    return { status: answer.status, text, time: performance.now() - before };
  };

  const owner = new URLSearchParams({ user });
  const found = ["/console", `${place}/data?${owner}`, `${place}/zones?${owner}`, `${place}/zones/zone?${owner}&zone=Cities`];
  // One page of each form: with another type, record or user a page is the same one.
  const form = (path) => path.split("?")[0].replace(/City\d/g, "City").replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "entry") + "?" + [...new URLSearchParams(path.split("?")[1]).keys()].sort().join();
  const forms = new Set(found.map(form));
  const pages = [];
  for (let index = 0; index < found.length && index < 150; index += 1) {
    const path = found[index];
    const first = await read(path);
    if (first.status !== 200) {
      assert.ok(first.status < 500, `${path} is answered with ${first.status}`);
      continue;
    }
    const times = [first.time];
    for (let turn = 0; turn < 4; turn += 1) times.push((await read(path)).time);
    pages.push({ path, first: first.time, median: times.toSorted((one, other) => one - other)[2], bytes: Buffer.byteLength(first.text) });
    for (const [, link] of first.text.matchAll(/href="(\/console[^"#]*)/g)) {
      const next = link.replaceAll("&amp;", "&");
      if (/\.(css|js)$/.test(next) || forms.has(form(next))) continue;
      forms.add(form(next));
      found.push(next);
    }
  }
  // Queries are forms that are sent.
  const query = `${place}/data/query?type=City0`;
  const { text } = await read(query);
  const [, inputs] = text.match(/<form[^>]*aria-label="Query"[^>]*>([\s\S]*?)<\/form>/);
  const hidden = [...inputs.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].map(([input]) => [input.match(/name="([^"]*)"/)[1], input.match(/value="([^"]*)"/)[1]]);
  for (const [name, fields] of [
    ["a range, sorted", { "filter-field-0": "population", "filter-comparator-0": "GREATER_THAN", "filter-value-0": "500000", "sort-field-0": "population" }],
    ["all, newest first", { "sort-field-0": "founded", "sort-order-0": "descending" }],
    ["words", { "filter-field-0": "name", "filter-comparator-0": "CONTAINS_ALL_TOKENS", "filter-value-0": "City" }],
    ["nothing", { "filter-field-0": "name", "filter-comparator-0": "EQUALS", "filter-value-0": "Atlantis" }],
  ]) {
    const times = [];
    for (let turn = 0; turn < 5; turn += 1) {
      const answer = await read(query, new URLSearchParams([...hidden, ["zone", "_defaultZone"], ["limit", "200"], ...Object.entries(fields)]));
      assert.ok(answer.status === 200 && answer.text.includes('id="results"'), `the query of ${name} failed: ${answer.text.replace(/<[^>]*>/g, " ").slice(0, 1000)}`);
      times.push(answer.time);
    }
    pages.push({ path: `query of ${name}`, first: times[0], median: times.toSorted((one, other) => one - other)[2], bytes: 0 });
  }
  for (const page of pages.toSorted((one, other) => other.first - one.first).slice(0, 25)) {
    console.log(`${page.first.toFixed(0).padStart(6)} ms first, ${page.median.toFixed(0).padStart(5)} ms median, ${String(page.bytes).padStart(7)} bytes  ${decodeURIComponent(page.path)}`);
  }
  const slowest = Math.max(...pages.map((page) => Math.max(page.first, page.median)));
  const verdict = (isMet) => (isMet ? "met" : "NOT MET");
  console.log(`first page: ${pages[0].first.toFixed(0)} ms, wanted ≤ ${targets.first}: ${verdict(pages[0].first <= targets.first)}; `
    + `${pages[0].bytes} bytes, wanted ≤ ${targets.bytes}: ${verdict(pages[0].bytes <= targets.bytes)}`);
  console.log(`slowest of all ${pages.length} pages: ${slowest.toFixed(0)} ms, wanted ≤ ${targets.any}: ${verdict(slowest <= targets.any)}`);
}

let status = 0;
try {
  await main();
} catch (error) {
  console.error(error);
  status = 1;
}
await people.end();
process.exit(status);
