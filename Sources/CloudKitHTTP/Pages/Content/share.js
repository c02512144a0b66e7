"use strict";

// Quoted for a shell: nothing in an address may end the quotes.
const address = location.href.replaceAll("'", "%27");
const button = document.getElementById("open");
button.querySelector("a").href = "welkin:" + address;
button.hidden = false;
document.getElementById("command").textContent = `welkin open '${address}'`;
// Where the page shows nothing else, this is what it is for.
document.getElementById("app").open = !document.getElementById("viewer");
