// How to run the proxies of deploy/proxy without rights, on other ports, with the names and files of a test.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const read = (name) => readFileSync(new URL(`../../../deploy/proxy/${name}`, import.meta.url), "utf8");

/** Replaces texts that all have to be there, so that a change of the configuration is noticed here. */
function replaced(text, changes) {
  for (const [before, after] of changes) {
    if (!text.includes(before)) throw new Error(`the configuration has no ${before}`);
    text = text.replaceAll(before, after);
  }
  return text;
}

export const proxies = {
  nginx: {
    command({ folder, host, port, cloudPort }) {
      const own = `${folder}/nginx`;
      mkdirSync(own, { recursive: true });
      const site = replaced(read("nginx.conf"), [
        ["127.0.0.1:8080", `127.0.0.1:${cloudPort}`],
        ["listen 443 ssl", `listen 127.0.0.1:${port} ssl`],
        [`server_name ${host}`, "server_name localhost"],
        [`/etc/letsencrypt/live/${host}/`, `${folder}/`],
        ["/var/log/nginx/", `${own}/`],
      ]);
      const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map((name) => `  ${name}_temp_path ${own}/${name};\n`).join("");
      writeFileSync(
        `${own}/main.conf`,
        `daemon off;\nworker_processes 1;\npid ${own}/pid;\nevents { worker_connections 256; }\nhttp {\n${temporary}${site}}\n`);
      return ["nginx", ["-p", own, "-e", `${own}/error.log`, "-c", `${own}/main.conf`]];
    },
    logs: ({ folder }) => [`${folder}/nginx/welkin.log`, `${folder}/nginx/error.log`],
  },
  caddy: {
    command({ folder, host, port, cloudPort }) {
      const own = `${folder}/caddy`;
      mkdirSync(own, { recursive: true });
      const site = replaced(read("Caddyfile"), [
        [`\n${host} {`, `\nlocalhost:${port} {\n    bind 127.0.0.1\n    tls ${folder}/fullchain.pem ${folder}/privkey.pem`],
        ["127.0.0.1:8080", `127.0.0.1:${cloudPort}`],
      ]);
      const options = "{\n    admin off\n    auto_https disable_redirects\n}\n";
      writeFileSync(`${own}/Caddyfile`, options + site);
      return ["caddy", ["run", "--config", `${own}/Caddyfile`, "--adapter", "caddyfile"]];
    },
    // Its errors are what it prints.
    logs: () => [],
  },
};
