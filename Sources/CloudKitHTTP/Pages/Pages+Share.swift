import CloudKitModel

extension Pages {
    /// What the holder of a share's link sees in a browser.
    ///
    /// - Parameter thumbnail: Base 64 of an image; shown only if it begins as one.
    static func share(container: ContainerID, title: String?, owner: String?, thumbnail: String?) -> Answer {
        let name = title.map(HTML.escape) ?? "Something is shared with you"
        let from = owner.map { "<p>Shared by \(HTML.escape($0)).</p>" } ?? ""
        let image = thumbnail.flatMap(imageSource).map { "<p><img src=\"\($0)\" alt=\"\" width=\"128\"></p>" } ?? ""
        return html(
            title: title ?? "Shared", allowsImages: true,
            body: """
                <main>
                \(image)
                <h1>\(name)</h1>
                \(from)
                <p>It belongs to the app <strong>\(HTML.escape(container.name))</strong>. To open it, copy this page's
                whole address, from <code>http</code> to its end, and give it to the app, or run</p>
                <pre>welkin open <em>address</em></pre>
                <p>on a device that is signed in to this cloud.</p>
                </main>
                """)
    }

    static func shareNotFound() -> Answer {
        var answer = html(
            title: "Not shared",
            body: """
                <main>
                <h1>This link leads nowhere</h1>
                <p>It is not a link of this cloud, or what it led to is gone.</p>
                </main>
                """)
        answer.status = .notFound
        return answer
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
