extension Part {
    /// Returns the message with a secret that was just made and cannot be read again.
    ///
    /// - Parameter what: Its name, such as "API token".
    static func newSecret(_ secret: String, what: String, hint: String) -> HTML {
        Tag.div(.role("status"), .class("message good")) {
            Tag.p {
                Tag.strong("\(what) created.")
                " Copy it now: it is not shown again."
            }
            Tag.pre { Tag.code(secret) }
            Tag.p(hint)
        }
    }
}
