/**
 * Signing in at a provider of identities (OpenID Connect): leaving for it, coming back, and the ticket with which the page goes on where the person
 * began. The provider learns nothing that opens data.
 */

const leaving = "welkin provider leaving";
const arrived = "welkin provider ticket";
const toBase64 = (bytes) => btoa(String.fromCharCode(...bytes));

/** Leaves for the provider; `post` sends a request to the cloud. The secret stays in this tab and binds the way back to it. */
export async function leave(post, label) {
  const secret = crypto.getRandomValues(new Uint8Array(32));
  const binding = new Uint8Array(await crypto.subtle.digest("SHA-256", secret));
  const { url } = await post("providers/begin", { binding: toBase64(binding) });
  sessionStorage.setItem(leaving, JSON.stringify({ secret: toBase64(secret), back: location.pathname + location.search + location.hash, label }));
  location.assign(url);
}

/** The ticket with which the person came back to this page; once. */
export function takeTicket() {
  const text = sessionStorage.getItem(arrived);
  sessionStorage.removeItem(arrived);
  return text ? JSON.parse(text) : null;
}

export const keepTicket = (ticket) => sessionStorage.setItem(arrived, JSON.stringify(ticket));

/** Hands what the provider answered to the program that began the sign-in: its port is behind the state, which the cloud sealed. The program has the secret without which the code is worth nothing. */
function handOver(answer) {
  const port = answer.get("state")?.match(/~([1-9][0-9]{0,4})$/)?.[1];
  if (!port || Number(port) > 65535) return false;
  const given = new URLSearchParams();
  for (const name of ["state", "code", "error"]) if (answer.has(name)) given.set(name, answer.get(name));
  location.replace(`http://127.0.0.1:${port}/?${given}`);
  return true;
}

async function finish({ container, environment, token }) {
  const answer = new URLSearchParams(location.search);
  // Neither the history nor the next page has the code.
  history.replaceState(null, "", location.pathname);
  const begun = JSON.parse(sessionStorage.getItem(leaving) || "null");
  sessionStorage.removeItem(leaving);
  if (!begun && handOver(answer)) return;
  if (!begun) throw new Error("This sign-in was not begun in this tab. Begin again on the page where you want to sign in.");
  if (answer.has("error")) throw new Error(`${begun.label} did not sign you in (${answer.get("error").slice(0, 100)}). Begin again.`);
  const response = await fetch(`/device/1/${encodeURIComponent(container)}/${environment}/providers/finish?ckAPIToken=${encodeURIComponent(token)}`, {
    method: "POST", credentials: "omit", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ state: answer.get("state") || "", code: answer.get("code") || "", secret: begun.secret }) });
  const body = await response.json();
  if (!response.ok) throw new Error(`${body.reason || "The cloud could not sign you in"}. ${body.remedy || ""}`);
  keepTicket(body);
  location.replace(begun.back);
}

const message = document.getElementById("message");
if (message?.dataset.container && location.pathname === "/provider") finish(message.dataset).catch((error) => (message.textContent = error.message));
