"use strict";

// A text that the app chose for its own languages is shown as it is, with the values put in (B-PSH-05).
function text(literal, key, values) {
  if (!key) return literal || "";
  let next = 0;
  return key.replace(/%(?:(\d+)\$)?@/g, (_, place) => (values || [])[place ? place - 1 : next++] ?? "");
}

// The notification that a payload (docs/web-services.md §12.3) asks for.
function presented(payload) {
  const aps = payload.aps || {};
  const ck = payload.ck || {};
  const alert = typeof aps.alert === "string" ? { body: aps.alert } : aps.alert || {};
  const subject = ck.qry || ck.fet || ck.met || {};
  const title = text(alert.title, alert["title-loc-key"], alert["title-loc-args"]);
  const subtitle = text(alert.subtitle, alert["subtitle-loc-key"], alert["subtitle-loc-args"]);
  const body = text(alert.body, alert["loc-key"], alert["loc-args"]);
  const lines = [subtitle, body].filter(Boolean);
  return {
    title: title || ck.cid || "Notification",
    body: lines.join("\n") || (title ? "" : "Something has changed."),
    // What comes twice, or is about the same again, takes the place of what is shown.
    tag: [ck.cid, subject.sid, subject.zid, subject.rid].filter(Boolean).join("/") || "welkin",
    silent: aps.sound === undefined,
    data: { nid: ck.nid },
  };
}

async function show(data) {
  let payload = {};
  try {
    payload = data.json();
  } catch {
    // A push has to show something, whatever it is.
  }
  const { title, ...options } = presented(payload);
  const [shown] = await self.registration.getNotifications({ tag: options.tag });
  options.renotify = Boolean(shown) && shown.data?.nid !== options.data.nid;
  await self.registration.showNotification(title, options);
}

self.addEventListener("push", (event) => event.waitUntil(show(event.data)));

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil((async () => {
    const [page] = await clients.matchAll({ type: "window", includeUncontrolled: true });
    if (page) await page.focus();
  })());
});

// The cloud learns of the new subscription when the page is next open.
self.addEventListener("pushsubscriptionchange", (event) => {
  const options = event.oldSubscription?.options;
  if (options) event.waitUntil(self.registration.pushManager.subscribe(options));
});
