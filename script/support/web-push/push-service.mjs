// A minimal version of Chromium's push service: gives the browser an identity, tokens for its subscriptions, and a connection
// for messages. Messages to `/push/{token}` are passed to the browser unchanged and encrypted: only the browser has the keys.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer as createWebServer } from "node:http";
import { join } from "node:path";
import { createServer as createSecureServer } from "node:tls";

const varint = (value) => {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
};
const text = (field, value) => {
  const bytes = Buffer.from(value);
  return Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);
};
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const fixed = (field, value) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return Buffer.concat([varint((field << 3) | 1), bytes]);
};

const tags = { ping: 0, pingAnswer: 1, login: 2, loginAnswer: 3, message: 8 };
const version = 41;

/** Starts the service on ports of the system's choosing. */
export async function startPushService(folder) {
  const registrations = [];
  /** Every message that servers have sent: path, headers and body. */
  const received = [];
  let connection;
  const waiting = [];

  const web = createWebServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts);
      if (request.url === "/checkin") {
        response.end(Buffer.concat([number(1, 1), number(3, Date.now()), fixed(7, 1_234_567n), fixed(8, 7_654_321n)]));
      } else if (request.url === "/register") {
        registrations.push(new URLSearchParams(body.toString()));
        response.end(`token=${registrations.length - 1}`);
      } else {
        received.push({ url: request.url, headers: request.headers, body });
        deliver(registrations[Number(request.url.split("/").pop())], body);
        response.statusCode = 201;
        response.end();
      }
    });
  });

  function deliver(registration, body) {
    const message = Buffer.concat([
      text(3, registration.get("sender")), text(5, registration.get("app")),
      text(7, Buffer.concat([text(1, "subtype"), text(2, registration.get("X-subtype"))])),
      text(7, Buffer.concat([text(1, "content-encoding"), text(2, "aes128gcm")])),
      text(9, `message-${received.length}`), text(21, body),
    ]);
    const bytes = Buffer.concat([Buffer.from([tags.message]), varint(message.length), message]);
    if (connection) connection.write(bytes);
    else waiting.push(bytes);
  }

  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  execFileSync("openssl", [
    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
    "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
  ], { stdio: "ignore" });
  const line = createSecureServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (socket) => {
    let buffer = Buffer.alloc(0);
    let isGreeted = false;
    socket.on("error", () => {});
    socket.on("close", () => { if (connection === socket) connection = undefined; });
    socket.on("data", (part) => {
      buffer = Buffer.concat([buffer, part]);
      if (!isGreeted) {
        isGreeted = true;
        buffer = buffer.subarray(1);
      }
      for (let next = frame(buffer); next; next = frame(buffer)) {
        buffer = buffer.subarray(next.end);
        if (next.tag === tags.login) {
          const answer = text(1, "session");
          socket.write(Buffer.concat([Buffer.from([version, tags.loginAnswer]), varint(answer.length), answer]));
          connection = socket;
          for (const bytes of waiting.splice(0)) socket.write(bytes);
        } else if (next.tag === tags.ping) {
          socket.write(Buffer.from([tags.pingAnswer, 0]));
        }
      }
    });
  });

  /** The first whole frame: tag, size, content. */
  function frame(bytes) {
    let size = 0;
    for (let at = 1, shift = 0; at < bytes.length; at += 1, shift += 7) {
      size |= (bytes[at] & 127) << shift;
      if (bytes[at] & 128) continue;
      return bytes.length >= at + 1 + size ? { tag: bytes[0], end: at + 1 + size } : undefined;
    }
    return undefined;
  }

  const listen = (server) => new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server.address().port)));
  const [webPort, linePort] = [await listen(web), await listen(line)];
  return {
    host: `127.0.0.1:${webPort}`,
    received,
    /** Where a server sends what is for a subscription that the browser got from its maker's service. */
    endpoint: (url) => `http://127.0.0.1:${webPort}/push/${url.split("/").pop()}`,
    browserOptions: [
      `--gcm-checkin-url=http://127.0.0.1:${webPort}/checkin`,
      `--gcm-registration-url=http://127.0.0.1:${webPort}/register`,
      `--gcm-mcs-endpoint=https://localhost:${linePort}`, "--ignore-certificate-errors",
    ],
  };
}
