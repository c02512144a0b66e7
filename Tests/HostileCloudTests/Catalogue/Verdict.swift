import CloudKit

/// The effect of an attack on the devices of its victims. In no case does the attacker open anything.
enum Verdict: Sendable {
    /// A device reports an error with one of these codes, whose text contains one of these words.
    case detected(When, Set<CKError.Code>, [String])
    /// Sign-in refuses, with a text that contains this.
    case refusedAtSignIn(String)
    /// The new device gets no keys.
    case refusedAtApproval(When)
    /// No device reports an error, and nothing is lost: the reason.
    case harmless(String)
    /// The device that is lied to cannot know: the reason.
    case undetected(String)

    /// The time of detection.
    enum When: String, Sendable {
        case atOnce = "at once"
        case nextFetch = "at the next fetch"
        /// The person whose keys are exchanged; at their next sync, an hour later at most.
        case ownDevices = "by the person's own devices"
        case otherParticipants = "by the next participant of a share"
        case endOfFeed = "at the end of the zone's changes"
        case otherDevices = "by the account's other devices, at the end of the zone's changes"
        case codeOnOldDevice = "by the code that is typed on the old device"
        case codeOnNewDevice = "by the code that is typed on the new device"
        case afterAnotherWrites = "after another device of the account has written"
    }

    /// The column of the table in docs/threat-model.md.
    var word: String {
        switch self {
        case .detected(let when, _, _), .refusedAtApproval(let when): when.rawValue
        case .refusedAtSignIn: "at sign-in"
        case .harmless: "no effect"
        case .undetected: "no"
        }
    }
}
