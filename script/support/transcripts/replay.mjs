// Opens the data folder of a released version with the newest programs, and replays what its SDK said.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { until } from "../people.mjs";
import { ADDRESS, Correspondence, differences, replayed } from "./exchanges.mjs";
import { removeFolder } from "../folders.mjs";

const [welkin, folder] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "welkin-transcript-"));
const data = `${scratch}/data`;
const variables = { ...process.env, HOME: scratch, WELKIN_CONFIG: "" };
const say = (line) => console.log(`  ${line}`);

function run(...words) {
  try {
    return { status: 0, output: execFileSync(welkin, [...words, "--data", data], { env: variables, encoding: "utf8", stdio: "pipe" }) };
  } catch (error) {
    return { status: error.status, output: `${error.stdout}${error.stderr}` };
  }
}

function check(when) {
  const outcome = run("check");
  assert.equal(outcome.status, 0, `welkin check ${when}: ${outcome.output}`);
}

/** The comparison has to be able to fail. */
function checkComparison(exchanges) {
  const sample = exchanges.map((each) => { try { return JSON.parse(each.answer); } catch { return null; } }).find((each) => each?.records?.[0]?.recordName);
  assert.ok(sample, "no answer with records was recorded");
  const changed = (change) => { const copy = structuredClone(sample); change(copy); return differences(sample, copy, new Correspondence()).length; };
  assert.equal(changed(() => {}), 0);
  assert.equal(changed((copy) => { copy.added = 1; }), 0);
  assert.ok(changed((copy) => { delete copy.records[0].recordName; }) > 0);
  assert.ok(changed((copy) => { copy.records.push(copy.records[0]); }) > 0);
  assert.ok(changed((copy) => { copy.records = {}; }) > 0);
}

let cloud;
try {
  const about = JSON.parse(readFileSync(`${folder}/about.json`));
  const exchanges = gunzipSync(readFileSync(`${folder}/exchanges.jsonl.gz`)).toString().trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.equal(exchanges.length, about.exchanges);
  checkComparison(exchanges);
  mkdirSync(data, { mode: 0o700 });
  execFileSync("tar", ["-xzf", `${folder}/data.tar.gz`, "-C", data, "--no-same-owner"]);

  // The store: what would be done, a backup, the upgrade; the second time there is nothing to do.
  const plan = run("upgrade", "--dry-run");
  assert.equal(plan.status, 0, plan.output);
  const upgrade = run("upgrade", "--backup", `${scratch}/backup`);
  assert.equal(upgrade.status, 0, upgrade.output);
  assert.match(run("upgrade", "--dry-run").output, /nothing to do/);
  check("after the upgrade");

  cloud = spawn(welkin, ["serve", "--data", data, "--port", "0", "--log-level", "error", "--public-url", ADDRESS], { env: variables, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  cloud.stdout.on("data", (part) => { output += part; });
  const base = new URL(await until("a listening cloud", () => output.match(/listening on (\S+)/)?.[1]));
  const correspondence = new Correspondence();
  let problems = 0;
  for (const [index, exchange] of exchanges.entries()) {
    for (const problem of await replayed(exchange, base, correspondence)) {
      problems += 1;
      if (problems <= 20) console.error(`exchange ${index + 1}, ${exchange.method} ${exchange.target.split("?")[0]}: ${problem}`);
    }
  }
  assert.equal(problems, 0, `${problems} answers mean something else than to the SDK of ${about.version}`);
  const ended = new Promise((done) => cloud.once("exit", done));
  cloud.kill();
  await ended;
  cloud = null;
  check("after the exchanges");
  say(`${about.version}: ${/nothing to do/.test(plan.output) ? "no upgrade needed" : "upgraded after a backup"}; ${exchanges.length} exchanges of its SDK mean the same`);
} finally {
  cloud?.kill("SIGKILL");
  removeFolder(scratch);
}
