// Programs that a person uses in a terminal, beside pages in a browser.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";

/** Returns a function that starts a program: what it shows is waited for, and lines are typed. */
export function terminalAt({ program, variables, running, until }) {
  return (profile, ...words) => {
    const child = spawn(program, words, { env: { ...variables(), CLOUDKIT_PROFILE: profile }, stdio: ["pipe", "pipe", "pipe"] });
    running.push(child);
    let shown = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => { shown += part; });
    const ended = new Promise((done) => child.once("close", (code) => done({ code, shown })));
    return {
      child, ended, type: (line) => child.stdin.write(`${line}\n`),
      async shows(pattern) {
        let isOver = false;
        ended.then(() => { isOver = true; });
        const found = await until(`${pattern} of ${words.join(" ")}`, () => shown.match(pattern) ?? (isOver && { none: true }));
        assert.ok(!found.none, `${words.join(" ")} ended without ${pattern}: ${shown}`);
        return found;
      },
      async fails(pattern) {
        const { code } = await ended;
        assert.notEqual(code, 0, shown);
        assert.match(shown, pattern);
      },
      async succeeds(pattern) {
        const { code } = await ended;
        assert.equal(code, 0, shown);
        assert.match(shown, pattern);
        return shown;
      },
    };
  };
}
