// A temporary cloud with people, and an app of theirs in a process.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeFolder } from "./folders.mjs";

export async function until(what, look, tries = 800) {
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const found = await look();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 25));
  }
  throw new Error(`this did not happen: ${what}`);
}

/** A cloud, whose people have one device each unless more are named. */
export class People {
  folder = mkdtempSync(join(tmpdir(), "welkin-people-"));
  running = [];
  #token;
  #cloud;

  /** `endpoint` is the address that devices use, where it is not the one on which the cloud listens; `serve` are further options of it. */
  constructor(welkin, app, container, { endpoint, serve = [], variables = {} } = {}) {
    Object.assign(this, { welkin, app, container, endpoint, serve });
    this.variables = {
      ...process.env, HOME: this.folder, XDG_DATA_HOME: `${this.folder}/share`, XDG_CONFIG_HOME: `${this.folder}/config`,
      XDG_CACHE_HOME: `${this.folder}/cache`, CLOUDKIT_CONTAINER: container, WELKIN_CONFIG: "",
      ...variables,
    };
    writeFileSync(`${this.folder}/password`, "correct horse battery\n", { mode: 0o600 });
    // The desktop's program that opens a browser: notes what it is to open.
    mkdirSync(`${this.folder}/bin`);
    writeFileSync(`${this.folder}/bin/xdg-open`, `#!/bin/sh\nprintf '%s' "$1" >"$WELKIN_OPENED.new" && mv "$WELKIN_OPENED.new" "$WELKIN_OPENED"\n`);
    chmodSync(`${this.folder}/bin/xdg-open`, 0o755);
  }

  async start() {
    await this.startCloud();
    this.#token = JSON.parse(this.operator("token", "create", this.container, "--json")).token;
    Object.assign(this.variables, { CLOUDKIT_ENDPOINT: this.endpoint ?? this.base, CLOUDKIT_API_TOKEN: this.#token, CLOUDKIT_ENVIRONMENT: "development" });
  }

  /** Starts the cloud, on its former port if it had one. */
  async startCloud() {
    const port = this.base ? new URL(this.base).port : "0";
    this.#cloud = spawn(this.welkin, ["serve", "--data", `${this.folder}/data`, "--port", port, "--log-level", "error", ...this.serve],
      { env: this.variables, stdio: ["ignore", "pipe", "inherit"] });
    this.running.push(this.#cloud);
    let output = "";
    this.#cloud.stdout.on("data", (part) => { output += part; });
    this.base = await until("a listening cloud", () => output.match(/listening on (\S+)/)?.[1]);
  }

  async stopCloud() {
    const ended = new Promise((done) => this.#cloud.once("exit", done));
    this.#cloud.kill();
    await ended;
  }

  /** Runs `welkin` beside the cloud's data, as its operator does. */
  operator(...words) {
    return execFileSync(this.welkin, [...words, "--data", `${this.folder}/data`], { env: this.variables, encoding: "utf8" });
  }

  /** Makes an account, and signs in its devices: a profile of the same name, or those that are named. */
  add(name, ...devices) {
    const email = `${name}@example.com`;
    this.operator("account", "add", email, "--password-file", `${this.folder}/password`);
    for (const profile of devices.length > 0 ? devices : [name]) {
      execFileSync(this.welkin, ["login", "--endpoint", this.endpoint ?? this.base, "--container", this.container, "--api-token", this.#token,
        "--email", email, "--profile", profile, "--password-file", `${this.folder}/password`], { env: this.variables, stdio: "ignore" });
    }
  }

  #environment(name, more = {}) {
    return { ...this.variables, CLOUDKIT_PROFILE: name, ...more };
  }

  /** Runs the app of a person to its end. */
  run(name, ...words) {
    return execFileSync(this.app, words, { env: this.#environment(name), encoding: "utf8" });
  }

  /** Runs `welkin` as a person does who may be refused; returns what it prints. */
  attempt(name, ...words) {
    try {
      return { output: execFileSync(this.welkin, words, { env: this.#environment(name), encoding: "utf8", stdio: "pipe" }), status: 0 };
    } catch (error) {
      return { output: `${error.stdout}${error.stderr}`, status: error.status };
    }
  }

  /** Opens a link as `welkin open` does, and runs the person's app, which joins. */
  join(name, link) {
    execFileSync(this.welkin, ["open", "--yes", "--profile", name, link], { env: this.#environment(name), stdio: "ignore" });
    return this.run(name, "join", "--for", "2");
  }

  /** Returns the query of requests of a device, by its profile. */
  tokens(name) {
    const credentials = JSON.parse(readFileSync(`${this.folder}/share/welkin/profiles/${name}/credentials.json`));
    const entry = credentials.containers.find((each) => each.container === this.container);
    return new URLSearchParams({ ckAPIToken: this.#token, ckWebAuthToken: entry.webAuthToken });
  }

  /** Asks for access to a share as a person does who has only its link. */
  async ask(name, link) {
    const guid = new URL(link).pathname.split("/").at(-1);
    const answer = await fetch(`${this.base}/database/1/${this.container}/development/public/shares/requestAccess?${this.tokens(name)}`,
      { method: "POST", body: JSON.stringify({ shortGUIDs: [{ value: guid }] }) });
    assert.equal(answer.status, 200, await answer.clone().text());
  }

  /** Shows the panel of a person's list on a desktop; returns the address that their browser is to open, and the end of the app. */
  async present(name) {
    const opened = join(this.folder, `opened-${this.running.length}`);
    const app = spawn(this.app, ["share"], {
      env: this.#environment(name, { DISPLAY: ":0", PATH: `${this.folder}/bin:${process.env.PATH}`, WELKIN_OPENED: opened }),
      stdio: ["ignore", "inherit", "inherit"],
    });
    this.running.push(app);
    const ended = new Promise((done) => app.once("exit", done));
    const address = await until("an opened panel", () => { try { return readFileSync(opened, "utf8"); } catch { return app.exitCode !== null && "ended"; } });
    assert.notEqual(address, "ended", "the app ended without a panel");
    return { address, ended, app };
  }

  async end() {
    for (const child of this.running.toReversed()) {
      const ended = new Promise((done) => child.once("exit", done));
      if (child.exitCode === null && child.kill()) await ended;
    }
    removeFolder(this.folder);
  }
}
