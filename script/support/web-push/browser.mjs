// Headless Chromium, controlled over a pipe with the DevTools protocol.
import { spawn } from "node:child_process";

export function startBrowser(folder, options) {
  const process = spawn("chromium", [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe",
    `--user-data-dir=${folder}/profile`, ...options, "about:blank",
  ], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const calls = new Map();
  const listeners = new Set();
  let lastID = 0;
  let rest = "";
  process.stdio[4].on("data", (part) => {
    rest += part;
    const messages = rest.split("\0");
    rest = messages.pop();
    for (const message of messages.map((text) => JSON.parse(text))) {
      const call = calls.get(message.id);
      calls.delete(message.id);
      if (!call) listeners.forEach((listener) => listener(message));
      else if (message.error) call.reject(new Error(message.error.message));
      else call.resolve(message.result);
    }
  });

  const send = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
    lastID += 1;
    calls.set(lastID, { resolve, reject });
    process.stdio[3].write(JSON.stringify({ id: lastID, method, params, sessionId }) + "\0");
  });

  /**
   * Opens a page; `change` may rewrite the body of what it posts to paths that end in `path`. `prepare` gets the page's commands before it
   * loads, `watch` its events; `browserContextId` keeps what it stores apart from other pages.
   */
  async function open(url, { path, change, prepare, watch, browserContextId } = {}) {
    const { targetId } = await send("Target.createTarget", { url: "about:blank", browserContextId });
    const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
    const call = (method, params) => send(method, params, sessionId);
    if (change) {
      listeners.add((message) => {
        if (message.sessionId !== sessionId || message.method !== "Fetch.requestPaused") return;
        const { requestId, request } = message.params;
        const postData = request.postData && Buffer.from(change(request.postData)).toString("base64");
        call("Fetch.continueRequest", postData ? { requestId, postData } : { requestId });
      });
      await call("Fetch.enable", { patterns: path.map((path) => ({ urlPattern: `*${path}?*` })) });
    }
    if (watch) listeners.add((message) => message.sessionId === sessionId && watch(message, call));
    await call("Page.enable");
    await prepare?.(call);
    /** Sends a command that loads a page, and waits until it is loaded. */
    const load = (method, params) => new Promise((resolve, reject) => {
      const listener = (message) => {
        if (message.sessionId !== sessionId || message.method !== "Page.loadEventFired") return;
        listeners.delete(listener);
        resolve();
      };
      listeners.add(listener);
      call(method, params).catch(reject);
    });
    await load("Page.navigate", { url });
    return { ...commands(call, targetId), reload: () => load("Page.reload", {}) };
  }

  const commands = (call, targetId) => ({
    call,
    /** What an expression comes to, awaited, as if a person had done it. */
    async run(expression) {
      const answer = await call("Runtime.evaluate", {
        expression: `(async () => ${expression})()`, awaitPromise: true, returnByValue: true, userGesture: true,
      });
      if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception?.description ?? "exception");
      return answer.result.value;
    },
    close: () => send("Target.closeTarget", { targetId }),
  });

  /** Takes control of a page that another one has opened; `watch` gets its events. */
  async function attach(targetId, { watch } = {}) {
    const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
    const call = (method, params) => send(method, params, sessionId);
    if (watch) listeners.add((message) => message.sessionId === sessionId && watch(message, call));
    await call("Page.enable");
    await call("Network.enable", { maxPostDataSize: 1 << 24 });
    return commands(call, targetId);
  }

  /** Calls a function with every event of every page. */
  const listen = (listener) => listeners.add(listener);

  return { process, send, open, attach, listen };
}
