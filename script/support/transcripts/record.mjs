// Records what an SDK says to its cloud: the data folder before, and the exchanges.
import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { People } from "../people.mjs";
import { startRecorder } from "./exchanges.mjs";

const [welkin, peer, folder] = process.argv.slice(2);
const container = "iCloud.com.example.transcript";
let people;
const recorder = await startRecorder(() => new URL(people.base));
people = new People(welkin, peer, container, { endpoint: recorder.address, serve: ["--public-url", recorder.address] });

/** A device with the framework; its commands are those of the program browser-peer. */
function device(profile) {
  const child = spawn(peer, [], { env: { ...people.variables, CLOUDKIT_PROFILE: profile }, stdio: ["pipe", "pipe", "inherit"] });
  const waiting = [];
  let rest = "";
  child.stdout.on("data", (part) => {
    const lines = (rest + part).split("\n");
    rest = lines.pop();
    for (const line of lines) waiting.shift()(JSON.parse(line));
  });
  const run = async (...command) => {
    const answer = await new Promise((done) => { waiting.push(done); child.stdin.write(`${command.join("\t")}\n`); });
    assert.equal(answer.error, undefined, command.join(" "));
    return answer;
  };
  run.end = () => new Promise((done) => { child.once("exit", done); child.stdin.end(); });
  return run;
}

/** Runs `welkin` on a device. The recorder answers meanwhile, so nothing waits for the program but this. */
const onDevice = (profile, ...words) => new Promise((done) => {
  execFile(welkin, words, { env: { ...people.variables, CLOUDKIT_PROFILE: profile } }, (error, output, remarks) => done({ status: error ? error.code : 0, output: output + remarks }));
});

async function login(name, profile) {
  const outcome = await onDevice(profile, "login", "--endpoint", recorder.address, "--container", container, "--api-token", people.variables.CLOUDKIT_API_TOKEN,
    "--email", `${name}@example.com`, "--profile", profile, "--password-file", `${people.folder}/password`);
  assert.equal(outcome.status, 0, outcome.output);
}

try {
  await people.start();
  for (const [name, profile] of [["ada", "phone"], ["ben", "tablet"]]) {
    people.operator("account", "add", `${name}@example.com`, "--password-file", `${people.folder}/password`);
    await login(name, profile);
  }
  const phone = device("phone");
  const tablet = device("tablet");
  await phone("save", "first", "", "a secret", "a file");
  await phone("save", "leaf", "first", "another secret", "another file");
  await phone("vary", "1");
  await tablet("save", "own", "", "ben's secret", "ben's file");
  const shared = await phone("share", "first", "none", "ben@example.com");
  await tablet("accept", shared.url);
  await phone("look", "first");
  await Promise.all([phone.end(), tablet.end()]);
  await people.stopCloud();
  mkdirSync(folder, { recursive: true });
  execFileSync("tar", ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "--exclude=logs.sqlite*", "--exclude=serve.lock",
    "--exclude=write-probe", "-czf", `${folder}/data.tar.gz`, "-C", `${people.folder}/data`, "."]);

  await people.startCloud();
  recorder.recording = true;
  await login("ada", "laptop");
  await login("ben", "desk");
  const laptop = device("laptop");
  const desk = device("desk");
  const read = await laptop("read", "first");
  assert.equal(read.secret, "a secret");
  await laptop("save", "second", "first", "a later secret", "a later file");
  await laptop("retitle", "first", "Another title");
  await laptop("vary", "2");
  const open = await laptop("save", "open", "", "for all", "a file for all").then(() => laptop("share", "open", "write", ""));
  await desk("accept", open.url);
  await laptop("save", "invited", "", "for one", "a file for one");
  await laptop("share", "invited", "none", "");
  const once = await laptop("one-time", "invited");
  await desk("accept", once.url);
  await laptop("look", "open");
  const { userRecordName: owner } = JSON.parse((await onDevice("laptop", "status", "--json")).output);
  assert.equal((await desk("read-shared", owner, "first")).secret, "a secret");
  await desk("vary", "3");
  await laptop("stop", "open");
  for (const words of [["devices"], ["discovery", "on"], ["keychain", "words", "--password-file", `${people.folder}/password`], ["status"], ["account", "export", `${people.folder}/export`]]) {
    const outcome = await onDevice("laptop", ...words);
    assert.equal(outcome.status, 0, `welkin ${words.join(" ")}: ${outcome.output}`);
  }
  await Promise.all([laptop.end(), desk.end()]);
  recorder.recording = false;
  writeFileSync(`${folder}/exchanges.jsonl.gz`, gzipSync(recorder.exchanges.map((each) => JSON.stringify(each)).join("\n") + "\n", { level: 9 }));
  const version = execFileSync(welkin, ["--version"], { encoding: "utf8" }).trim();
  writeFileSync(`${folder}/about.json`, JSON.stringify({ version, container, exchanges: recorder.exchanges.length, secrets: ["a secret", "another secret", "ben's secret"] }, null, 2) + "\n");
  const kinds = new Set(recorder.exchanges.map((each) => each.target.split("?")[0].replace(/[0-9a-f]{8,}.*/i, "")));
  console.log(`${recorder.exchanges.length} exchanges of ${kinds.size} kinds`);
} finally {
  await people.end();
}
