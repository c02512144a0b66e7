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
