"use strict";

// Asks before a form that cannot be undone; the pages work without this script, since such forms have a page of their own to confirm.
for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => {
    if (!confirm(form.dataset.confirm)) event.preventDefault();
  });
}

// A form that only chooses what is shown is sent as soon as a choice changes.
for (const choice of document.querySelectorAll("form.view.at-once select")) {
  choice.addEventListener("change", () => choice.form.requestSubmit());
}

// Follows a list: while the button is pressed, the part of the page with that id is fetched again every two seconds.
for (const follow of document.querySelectorAll("[data-follow]")) {
  const button = follow.querySelector("button");
  const status = follow.querySelector("[role=status]");
  const id = follow.dataset.follow;
  let timer;
  const update = async () => {
    try {
      const answer = await fetch(location.href, { credentials: "same-origin" });
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById(id);
      const shown = document.getElementById(id);
      // What has the focus stays, so that reading with a keyboard is not interrupted.
      if (fresh && shown && !shown.contains(document.activeElement)) shown.replaceWith(document.adoptNode(fresh));
      status.textContent = " Following.";
    } catch {
      status.textContent = " The cloud does not answer; trying again.";
    }
    timer = setTimeout(update, 2000);
  };
  button.addEventListener("click", () => {
    const isOn = button.getAttribute("aria-pressed") === "true";
    button.setAttribute("aria-pressed", String(!isOn));
    clearTimeout(timer);
    if (isOn) status.textContent = ""; else update();
  });
  button.setAttribute("aria-pressed", "false");
  follow.hidden = false;
}
