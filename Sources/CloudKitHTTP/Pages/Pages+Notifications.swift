extension Pages {
    /// Where a person turns an app's notifications on and off for the browser they are looking with.
    static func notifications(_ app: App) -> EndpointResponse {
        html(
            title: "Notifications",
            body: """
                <main id="notifications"\(app.attributes)>
                <h1>Notifications in this browser</h1>
                <p>of <strong>\(HTML.escape(app.row.container))</strong>, also while none of its pages is open</p>
                <form id="sign-in"\(app.attributes) data-stays="true" hidden>
                <label>E-mail address
                <input name="email" type="email" autocomplete="username" required></label>
                <label>Password
                <input name="password" type="password" autocomplete="current-password" required></label>
                <button type="submit">Sign in</button>
                </form>
                <p><button id="switch" type="button" hidden>Turn on</button></p>
                <p id="message" role="status" aria-live="polite"></p>
                <p class="quiet">What an app announces is the app's choice. A message passes a service of your browser's maker, which
                cannot read it. Signing this browser out, on any of your devices, ends it too.</p>
                <noscript><p>This page needs JavaScript: without it no browser takes messages while pages are closed.</p></noscript>
                </main>
                """, scripts: ["/sign-in.js", "/notifications.js"])
    }
}
