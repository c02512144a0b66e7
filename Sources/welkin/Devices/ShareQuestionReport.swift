import CloudKitDevice

/// A participant who waits for confirmation, as commands show them.
struct ShareQuestionReport: Encodable {
    var container: String
    var zone: String
    var share: String
    /// The shared record; nil for a whole zone.
    var root: String?
    /// nil: any user who has the link.
    var person: String?
    var access: String
    var fingerprint: String?

    init(_ question: ShareQuestions.Question) {
        container = question.container
        zone = question.zoneName
        share = question.shareName
        root = question.root
        person = question.participant == nil ? nil : question.person ?? "unknown"
        access = question.isAdministrator ? "administrator" : question.canWrite ? "read and write" : "read"
        fingerprint = question.fingerprintText
    }

    var rows: [[String]] {
        [
            ["Share", "\(share) in zone \(zone) of \(container)".onOneLine],
            ["Shared", (root.map { "record \($0) and all below it" } ?? "the whole zone").onOneLine],
            ["Participant", (person ?? "any user who has the link").onOneLine], ["Access", access],
            ["Fingerprint", fingerprint ?? "none yet"],
        ]
    }
}
