/// What the page of a share does where scripts run: its button and its command get the page's whole address, of which the
/// part behind the `#` is known to the browser alone.
enum ShareScript {
    static let text = """
        "use strict";

        // Quoted for a shell: nothing in an address may end the quotes.
        const address = location.href.replaceAll("'", "%27");
        const button = document.getElementById("open");
        button.querySelector("a").href = "welkin:" + address;
        button.hidden = false;
        document.getElementById("command").textContent = `welkin open '${address}'`;

        """
}
