import CloudKitModel

extension Pages {
    /// What the holder of a share's link sees in a browser.
    ///
    /// - Parameter thumbnail: Base 64 of an image; shown only if it begins as one.
    static func share(container: ContainerID, title: String?, owner: String?, thumbnail: String?) -> EndpointResponse {
        let title = title.flatMap { $0.contains { !$0.isWhitespace } ? $0 : nil }
        let name = title.map(HTML.escape) ?? "Something is shared with you"
        let from = owner.map { "<p>Shared by <bdi>\(HTML.escape($0))</bdi></p>" } ?? ""
        let image =
            thumbnail.flatMap(imageSource).map { "<p><img class=\"thumbnail\" src=\"\($0)\" alt=\"\"></p>" } ?? ""
        return html(
            title: title ?? "Shared with you", allowsImages: true,
            body: """
                <main>
                \(image)
                <h1 dir="auto">\(name)</h1>
                \(from)
                <div id="open" hidden>
                <p><a class="button">Open</a></p>
                <p class="quiet">The button works on devices where <code>welkin link-handler install</code> was run.</p>
                </div>
                <p>To open it, give this page's whole address, from <code>http</code> to its end, to the app
                <strong>\(HTML.escape(container.name))</strong>, or run on a device that is signed in to this cloud:</p>
                <pre id="command">welkin open '<em>address</em>'</pre>
                <p class="quiet">The app takes part when it runs; <code>welkin open --accept</code> does so without it.</p>
                </main>
                """, scripts: ["/share.js"])
    }

    static func shareNotFound() -> EndpointResponse {
        var response = html(
            title: "Not shared",
            body: """
                <main>
                <h1>This link leads nowhere</h1>
                <p>It is not a link of this cloud, or what it led to is gone.</p>
                </main>
                """)
        response.status = .notFound
        return response
    }

    /// The image as part of the page, by its first bytes; nil for what is none.
    private static func imageSource(_ base64: String) -> String? {
        let kinds = [("iVBORw0KGgo", "png"), ("/9j/", "jpeg"), ("R0lGOD", "gif")]
        let isPlain = base64.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
                true
            default: false
            }
        }
        guard isPlain, let kind = kinds.first(where: { base64.hasPrefix($0.0) }) else { return nil }
        return "data:image/\(kind.1);base64,\(base64)"
    }
}
