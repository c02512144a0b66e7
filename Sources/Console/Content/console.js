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

// A file is read into a field, which is what the form sends.
for (const part of document.querySelectorAll("[data-reads-into]")) {
  const field = document.getElementById(part.dataset.readsInto);
  const input = part.querySelector("input[type=file]");
  if (!field || !input) continue;
  part.hidden = false;
  input.addEventListener("change", async () => {
    if (input.files.length > 0) field.value = await input.files[0].text();
  });
}
