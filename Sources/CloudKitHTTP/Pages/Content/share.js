"use strict";

// Quoted for a shell: nothing in an address may end the quotes.
const address = location.href.replaceAll("'", "%27");
const button = document.getElementById("open");
button.querySelector("a").href = "welkin:" + address;
button.hidden = false;
document.getElementById("command").textContent = `welkin open '${address}'`;
