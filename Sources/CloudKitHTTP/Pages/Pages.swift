import CloudKitServer
import HTTPTypes

/// The few pages a person sees.
struct Pages {
    /// What this cloud is and where things are.
    static func landing() -> Answer {
        html(
            title: "Welkin",
            body: """
                <main>
                <h1>Welkin</h1>
                <p>This is an open CloudKit. It is running.</p>
                <dl>
                <dt><code>/database/1/{container}/{environment}/{database}/…</code></dt>
                <dd>CloudKit Web Services: records, zones, changes, users.</dd>
                <dt><code>/device/1/{container}/{environment}/sessions/…</code></dt>
                <dd>Devices sign in here.</dd>
                <dt><a href="/health">/health</a></dt>
                <dd>Whether the cloud can answer.</dd>
                <dt><a href="/metrics">/metrics</a></dt>
                <dd>Numbers for Prometheus.</dd>
                </dl>
                <p>An app needs an API token (<code>welkin token create iCloud.com.example.app</code>), a person an
                account (<code>welkin account add ada@example.com</code>), a device a sign-in
                (<code>welkin login</code>).</p>
                </main>
                """)
    }

    /// Where a browser signs in (web-services.md §2.3).
    ///
    /// - Parameter apiToken: As the app sent it; the page signs in with it.
    static func signIn(apiToken: String, row: APIToken) -> Answer {
        let attributes = [
            ("container", row.container), ("environment", row.environment), ("token", apiToken),
            ("callback", row.callback ?? ""), ("origins", row.allowedOrigins.joined(separator: " ")),
        ].map { " data-\($0.0)=\"\(HTML.escape($0.1))\"" }.joined()
        return html(
            title: "Sign in",
            body: """
                <main>
                <h1>Sign in</h1>
                <p>to use <strong>\(HTML.escape(row.container))</strong></p>
                <form id="sign-in"\(attributes)>
                <label>E-mail address
                <input name="email" type="email" autocomplete="username" required autofocus></label>
                <label>Password
                <input name="password" type="password" autocomplete="current-password" required></label>
                <label class="check"><input name="persist" type="checkbox"> Keep me signed in</label>
                <button type="submit">Sign in</button>
                </form>
                <p id="message" role="status" aria-live="polite"></p>
                <noscript><p>Signing in needs JavaScript: your password is turned into a proof here and never
                leaves this page.</p></noscript>
                </main>
                """, script: "/sign-in.js")
    }

    /// The sign-in page for a token that is none.
    static func signInRefused() -> Answer {
        var answer = html(
            title: "Sign in",
            body: """
                <main>
                <h1>This link does not work</h1>
                <p>The app that opened this page showed an API token that this cloud does not know.
                Its developer can make one with <code>welkin token create</code>.</p>
                </main>
                """)
        answer.status = .badRequest
        return answer
    }

    static func signInScript() -> Answer {
        Answer(contentType: "text/javascript; charset=UTF-8", body: Array(SignInScript.text.utf8), headers: headers)
    }

    static func styleSheet() -> Answer {
        Answer(contentType: "text/css; charset=UTF-8", body: Array(style.utf8), headers: headers)
    }

    static func html(
        title: String, allowsImages: Bool = false, body: String, script: String? = nil
    ) -> Answer {
        var headers = headers
        if allowsImages { headers[.contentSecurityPolicy]? += "; img-src data:" }
        return Answer(
            contentType: "text/html; charset=UTF-8", body: HTML.page(title: title, body: body, script: script),
            headers: headers)
    }

    /// Nothing from elsewhere, nothing inline, no frames; the address, which holds the app's token, goes to nobody.
    private static let headers: HTTPFields = [
        .contentSecurityPolicy:
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            + "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
        .xContentTypeOptions: "nosniff",
        HeaderName.frameOptions: "DENY",
        HeaderName.referrerPolicy: "no-referrer",
        .cacheControl: "no-store",
    ]

    private static let style = """
        :root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.5; }
        body { margin: 0; display: grid; place-items: center; min-height: 100vh; }
        main { max-width: 36rem; padding: 1.5rem; }
        form, label { display: grid; gap: 0.5rem; }
        form { gap: 1rem; }
        label.check { grid-template-columns: auto 1fr; align-items: center; }
        input[type=email], input[type=password], button { font: inherit; padding: 0.5rem 0.75rem; }
        dd { margin: 0 0 0.75rem 1rem; }
        #message { min-height: 1.5em; }

        """
}
