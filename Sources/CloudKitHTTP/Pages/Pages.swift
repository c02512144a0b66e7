import CloudKitServer
import HTTPTypes

/// The few pages a person sees.
struct Pages {
    /// What this cloud is and where things are.
    static func landing() -> EndpointResponse {
        html(
            title: "Welkin",
            body: """
                <main>
                <h1>Welkin</h1>
                <p>This is an open CloudKit. It is running.</p>
                <dl>
                <dt><code>/database/1/{container}/{environment}/{database}/…</code></dt>
                <dd>CloudKit Web Services: records, zones, changes, users.</dd>
                <dt><code>/device/1/{container}/{environment}/…</code></dt>
                <dd>Devices sign up, sign in and keep their wrapped keys here.</dd>
                <dt><code>/notifications?container=…&amp;environment=…&amp;ckAPIToken=…</code></dt>
                <dd>People turn an app's notifications in their browser on and off.</dd>
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

    /// The app that a page is for.
    struct App {
        /// As the app sent it; the page signs in with it.
        var apiToken: String
        var row: APIToken

        var attributes: String {
            [
                ("container", row.container), ("environment", row.environment), ("token", apiToken),
                ("callback", row.callback ?? ""), ("origins", row.allowedOrigins.joined(separator: " ")),
            ].map { " data-\($0.0)=\"\(HTML.escape($0.1))\"" }.joined()
        }
    }

    /// Where a browser signs in (web-services.md §2.3).
    ///
    /// - Parameter signUpQuery: The query of the sign-up page; nil when sign-up is closed.
    static func signIn(_ app: App, signUpQuery: String?) -> EndpointResponse {
        let signUp =
            signUpQuery.map { "<p>No account yet? <a href=\"/sign-up\(HTML.escape($0))\">Sign up</a></p>" } ?? ""
        return html(
            title: "Sign in",
            body: """
                <main>
                <h1>Sign in</h1>
                <p>to use <strong>\(HTML.escape(app.row.container))</strong></p>
                <form id="sign-in"\(app.attributes)>
                <label>E-mail address
                <input name="email" type="email" autocomplete="username" required autofocus></label>
                <label>Password
                <input name="password" type="password" autocomplete="current-password" required></label>
                <label class="check"><input name="persist" type="checkbox"> Keep me signed in</label>
                <button type="submit">Sign in</button>
                </form>
                <p id="message" role="status" aria-live="polite"></p>
                \(signUp)
                <noscript><p>Signing in needs JavaScript: your password is turned into a proof here and never
                leaves this page.</p></noscript>
                </main>
                """, scripts: ["/sign-in.js"])
    }

    /// Where a person makes an account; the browser is then signed in.
    ///
    /// - Parameters:
    ///   - signInQuery: The query of the sign-in page.
    ///   - rounds: Of the new password's derivation.
    static func signUp(_ app: App, signInQuery: String, rounds: Int) -> EndpointResponse {
        html(
            title: "Sign up",
            body: """
                <main>
                <h1>Sign up</h1>
                <p>to use <strong>\(HTML.escape(app.row.container))</strong></p>
                <form id="sign-up"\(app.attributes) data-rounds="\(rounds)">
                <label>E-mail address
                <input name="email" type="email" autocomplete="username" required autofocus></label>
                <label>Name, if you like
                <input name="name" autocomplete="name" maxlength="200"></label>
                <label>Password
                <input name="password" type="password" autocomplete="new-password" minlength="8" required></label>
                <label>Password, once more
                <input name="again" type="password" autocomplete="new-password" minlength="8" required></label>
                <label class="check"><input name="persist" type="checkbox"> Keep me signed in</label>
                <button type="submit">Sign up</button>
                </form>
                <p id="message" role="status" aria-live="polite"></p>
                <p>There is an account already? <a href="/sign-in\(HTML.escape(signInQuery))">Sign in</a></p>
                <p>The keys of your encrypted data are made by the first device that you sign in. It shows you recovery
                words: without them and without your password that data is lost.</p>
                <noscript><p>Signing up needs JavaScript: your password is turned into a proof here and never
                leaves this page.</p></noscript>
                </main>
                """, scripts: ["/sign-in.js"])
    }

    /// The sign-up page of a cloud whose operator makes the accounts.
    static func signUpClosed() -> EndpointResponse {
        var response = html(
            title: "Sign up",
            body: """
                <main>
                <h1>Sign-up is closed</h1>
                <p>The operator of this cloud makes its accounts. Ask them for one.</p>
                </main>
                """)
        response.status = .forbidden
        return response
    }

    /// The sign-in page for a token that is none.
    static func signInRefused() -> EndpointResponse {
        var response = html(
            title: "Sign in",
            body: """
                <main>
                <h1>This link does not work</h1>
                <p>The app that opened this page showed an API token that this cloud does not know.
                Its developer can make one with <code>welkin token create</code>.</p>
                </main>
                """)
        response.status = .badRequest
        return response
    }

    static func script(_ text: String) -> EndpointResponse {
        EndpointResponse(contentType: "text/javascript; charset=UTF-8", body: Array(text.utf8), headers: headers)
    }

    static func styleSheet() -> EndpointResponse {
        EndpointResponse(contentType: "text/css; charset=UTF-8", body: Array(style.utf8), headers: headers)
    }

    static func html(
        title: String, allowsImages: Bool = false, body: String, scripts: [String] = []
    ) -> EndpointResponse {
        var headers = headers
        if allowsImages { headers[.contentSecurityPolicy]? += "; img-src data:" }
        return EndpointResponse(
            contentType: "text/html; charset=UTF-8", body: HTML.page(title: title, body: body, scripts: scripts),
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
        [hidden] { display: none !important; }
        main { max-width: 36rem; padding: 1.5rem; }
        form, label { display: grid; gap: 0.5rem; }
        form { gap: 1rem; }
        label.check { grid-template-columns: auto 1fr; align-items: center; }
        input:not([type=checkbox]), button { font: inherit; padding: 0.5rem 0.75rem; }
        dd { margin: 0 0 0.75rem 1rem; }
        h1, pre { overflow-wrap: anywhere; }
        h1 { line-height: 1.2; max-height: 4.8em; overflow: hidden; }
        pre { white-space: pre-wrap; padding: 0.75rem; border: 1px solid #8886; border-radius: 0.5rem; }
        a.button { display: inline-block; padding: 0.6rem 1.2rem; border-radius: 0.5rem; background: #0a58ca; color: #fff;
          text-decoration: none; }
        img.thumbnail { width: 8rem; height: 8rem; object-fit: cover; border-radius: 1rem; }
        .quiet { opacity: 0.75; font-size: 0.9rem; }
        #message { min-height: 1.5em; }

        """
}
