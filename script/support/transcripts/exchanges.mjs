// Exchanges of a released SDK with its cloud: how they are recorded, and how a later cloud's answers are compared with them.
import { createServer, request as send } from "node:http";

/** The address of the cloud in transcripts, and the public address of clouds to which they are replayed. */
export const ADDRESS = "http://cloud.test";

async function pieces(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

const passedOn = ["content-type", "location", "retry-after", "upload-offset", "upload-length", "x-apple-cloudkit-web-auth-token"];
const text = (bytes, type = "") => /json|text/.test(type) || /^\s*[[{]/.test(bytes.subarray(0, 16).toString("latin1"));

/** Keeps the bytes of a body: text as text, the rest in Base64. */
function kept(bytes, type, address) {
  if (bytes.length === 0) return undefined;
  if (!text(bytes, type)) return { base64: bytes.toString("base64") };
  return bytes.toString().replaceAll(address, ADDRESS).replaceAll(address.replaceAll("/", "\\/"), ADDRESS.replaceAll("/", "\\/"));
}

/** Passes requests on to a cloud, and keeps what was said while `recording` is true. */
export async function startRecorder(target) {
  const recorder = { exchanges: [], recording: false };
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await pieces(incoming));
    const base = target();
    const passed = send({ host: base.hostname, port: base.port, method: incoming.method, path: incoming.url, headers: incoming.headers }, async (answer) => {
      const bytes = Buffer.concat(await pieces(answer));
      // Requests that wait for news end when something happens elsewhere: nothing to compare.
      if (recorder.recording && !incoming.url.includes("courier")) {
        const { host, connection, "content-length": _, ...headers } = incoming.headers;
        recorder.exchanges.push({
          method: incoming.method, target: incoming.url, headers, body: kept(body, incoming.headers["content-type"], recorder.address), status: answer.statusCode,
          answerHeaders: Object.fromEntries(passedOn.filter((name) => answer.headers[name]).map((name) => [name, answer.headers[name].replaceAll(recorder.address, ADDRESS)])),
          answer: kept(bytes, answer.headers["content-type"], recorder.address),
        });
      }
      outgoing.writeHead(answer.statusCode, answer.headers);
      outgoing.end(bytes);
    });
    passed.on("error", () => outgoing.destroy());
    passed.end(body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  server.unref();
  recorder.address = `http://127.0.0.1:${server.address().port}`;
  return recorder;
}

/** What a cloud gave out in place of what was recorded: tokens, identifiers, addresses. */
export class Correspondence {
  #values = new Map();
  #times = new Map();
  static lengthMin = 8;

  /** Notes a value in the place of a recorded one. */
  note(recorded, given) {
    if (recorded === given || recorded.length < Correspondence.lengthMin) return;
    this.#values.set(recorded, given);
    if (!URL.canParse(recorded) || !URL.canParse(given)) return;
    // The parts of an address are used on their own.
    const [old, present] = [new URL(recorded), new URL(given)];
    for (const [name, value] of old.searchParams) if (present.searchParams.has(name)) this.note(value, present.searchParams.get(name));
    const parts = present.pathname.split("/");
    old.pathname.split("/").forEach((part, index) => { if (parts[index]) this.note(part, parts[index]); });
    if (old.hash.length > 1 && present.hash.length > 1) this.note(old.hash.slice(1), present.hash.slice(1));
  }

  /** Notes a time in the place of a recorded one: statements about records name the time of their creation, and the cloud compares it. */
  noteTime(recorded, given) {
    if (recorded !== given) this.#times.set(recorded, given);
  }

  /** Puts the present times in the place of the recorded ones in what is binary in a body. */
  timed(body) {
    if (this.#times.size === 0) return body;
    return body.replace(/"([A-Za-z0-9+/]{24,}={0,2})"/g, (whole, base64) => {
      const bytes = Buffer.from(base64, "base64");
      let isChanged = false;
      for (let at = 0; at + 8 <= bytes.length; at += 1) {
        // Milliseconds of this century, in eight bytes.
        if (bytes[at] !== 0 || bytes[at + 1] !== 0 || bytes[at + 2] !== 1) continue;
        const given = this.#times.get(Number(bytes.readBigUInt64BE(at)));
        if (given === undefined) continue;
        bytes.writeBigUInt64BE(BigInt(given), at);
        isChanged = true;
      }
      return isChanged ? `"${bytes.toString("base64")}"` : whole;
    });
  }

  /** Puts the present values in the place of the recorded ones. */
  filled(recorded) {
    if (typeof recorded !== "string") return recorded;
    const known = [...this.#values].filter(([old]) => recorded.includes(old) || recorded.includes(encodeURIComponent(old)) || recorded.includes(escaped(old)));
    known.sort(([a], [b]) => b.length - a.length);
    // Placeholders first: a present value may contain a recorded one.
    known.forEach(([old], index) => {
      for (const [form, mark] of [[old, "r"], [escaped(old), "j"], [encodeURIComponent(old), "u"]]) recorded = recorded.replaceAll(form, `\u0000${mark}${index}\u0001`);
    });
    return recorded.replace(/\u0000([rju])(\d+)\u0001/g, (_, mark, index) => {
      const given = known[index][1];
      return mark === "r" ? given : mark === "j" ? escaped(given) : encodeURIComponent(given);
    });
  }
}

/** The form of a text in JSON whose slashes are escaped. */
const escaped = (value) => value.replaceAll("/", "\\/");

/** Names of values that are the moment's, or words for people. */
const free = new Set(["reason", "uuid", "serverTime", "retryAfter", "redirectURL"]);

/**
 * Compares an answer with the recorded one. What is added to an answer is no difference: an SDK passes over names that it does not know.
 * Returns the places that differ.
 */
export function differences(recorded, given, correspondence, path = "") {
  if (typeof recorded === "string" && typeof given === "string") {
    if (correspondence.filled(recorded) === given || recorded === given) return [];
    if (recorded.length < Correspondence.lengthMin || given.length < Correspondence.lengthMin) return [`${path}: ${recorded} has become ${given}`];
    correspondence.note(recorded, given);
    return [];
  }
  if (typeof recorded === "number" && typeof given === "number") {
    if (recorded === given) return [];
    if (!(recorded > 1e12 && given > 1e12)) return [`${path}: ${recorded} has become ${given}`];
    // Times are those of the moment.
    correspondence.noteTime(recorded, given);
    return [];
  }
  if (Array.isArray(recorded) && Array.isArray(given)) {
    if (recorded.length !== given.length) return [`${path}: ${recorded.length} elements have become ${given.length}`];
    return recorded.flatMap((each, index) => differences(each, given[index], correspondence, `${path}[${index}]`));
  }
  if (recorded !== null && given !== null && typeof recorded === "object" && typeof given === "object" && Array.isArray(recorded) === Array.isArray(given)) {
    return Object.keys(recorded).flatMap((name) => {
      if (free.has(name)) return name in given ? [] : [`${path}.${name} is missing`];
      return name in given ? differences(recorded[name], given[name], correspondence, `${path}.${name}`) : [`${path}.${name} is missing`];
    });
  }
  return recorded === given ? [] : [`${path}: ${JSON.stringify(recorded)} has become ${JSON.stringify(given)}`];
}

const parsed = (body) => { try { return typeof body === "string" ? JSON.parse(body) : body; } catch { return body; } };

/** Sends a recorded request to a cloud; returns how its answer differs. */
export async function replayed(exchange, base, correspondence) {
  const target = correspondence.filled(exchange.target);
  const headers = Object.fromEntries(Object.entries(exchange.headers).map(([name, value]) => [name, correspondence.filled(value)]));
  headers.host = new URL(ADDRESS).host;
  const body = typeof exchange.body === "string" ? Buffer.from(correspondence.timed(correspondence.filled(exchange.body))) : Buffer.from(exchange.body?.base64 ?? "", "base64");
  const answer = await new Promise((done, fail) => {
    const request = send({ host: base.hostname, port: base.port, method: exchange.method, path: target, headers: { ...headers, "content-length": body.length } }, async (incoming) => {
      done({ status: incoming.statusCode, headers: incoming.headers, bytes: Buffer.concat(await pieces(incoming)) });
    });
    request.on("error", fail);
    request.end(body);
  });
  const found = [];
  const given = answer.bytes.length === 0 ? undefined : text(answer.bytes, answer.headers["content-type"]) ? answer.bytes.toString() : { base64: answer.bytes.toString("base64") };
  if (answer.status !== exchange.status) found.push(`status ${exchange.status} has become ${answer.status}: ${JSON.stringify(given)?.slice(0, 300)}`);
  else if (exchange.answer === undefined || given === undefined) {
    if (exchange.answer !== given) found.push(`a body has ${given === undefined ? "gone" : "come"}`);
  } else found.push(...differences(parsed(exchange.answer), parsed(given), correspondence));
  for (const [name, value] of Object.entries(exchange.answerHeaders)) {
    if (!(name in answer.headers)) found.push(`the header ${name} is missing`);
    else if (name === "location" || /token/.test(name)) correspondence.note(value, answer.headers[name]);
    else if (answer.headers[name] !== value) found.push(`the header ${name} was ${value} and is ${answer.headers[name]}`);
  }
  return found;
}
