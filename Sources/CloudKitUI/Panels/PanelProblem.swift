import CloudKit

/// What went wrong in a panel, in a sentence for people, and what to do.
struct PanelProblem: Error, Hashable, Sendable {
    /// What happened.
    let reason: String
    /// What the person can do.
    let remedy: String
    /// Whether the share is gone, so that the panel ends.
    var endsSharing = false

    static let malformed = PanelProblem(
        reason: "The panel does not know this action.", remedy: "Reload the page, and try again.")

    static let busy = PanelProblem(
        reason: "Others keep changing this share.", remedy: "Nothing was changed. Try again in a moment.")

    static let notOffered = PanelProblem(
        reason: "You may not do that with this share.", remedy: "Ask its owner.")

    static let gone = PanelProblem(
        reason: "This is no longer shared with you, or sharing was stopped on another device.",
        remedy: "Close the panel. The owner can share it again.", endsSharing: true)

    static let personGone = PanelProblem(
        reason: "This person is not in the list any more.", remedy: "Look at the list, and choose again.")

    /// - Parameter owner: Who can help where the user may not do something; nil: the user is the owner.
    init(_ error: any Error, owner: String? = nil) {
        if let problem = error as? PanelProblem {
            self = problem
        } else if let error = error as? CKError {
            self = Self.problem(of: error, owner: owner)
        } else {
            self.init(reason: error.localizedDescription, remedy: "Nothing was changed. Try again.")
        }
    }

    init(reason: String, remedy: String, endsSharing: Bool = false) {
        self.reason = reason
        self.remedy = remedy
        self.endsSharing = endsSharing
    }

    private static func problem(of error: CKError, owner: String?) -> PanelProblem {
        switch error.code {
        case .partialFailure:
            // Of several items one tells more than all together; which one must not depend on chance.
            let errors = (error.partialErrorsByItemID ?? [:]).values.compactMap { $0 as? CKError }
            let first = errors.filter { $0.code != .batchRequestFailed && $0.code != .partialFailure }
                .min { $0.code.rawValue < $1.code.rawValue }
            return first.map { problem(of: $0, owner: owner) } ?? other(error)
        case .networkUnavailable, .networkFailure, .serverResponseLost:
            return PanelProblem(
                reason: "The cloud cannot be reached.",
                remedy: "Nothing changes until you are connected again; then try again.")
        case .serviceUnavailable, .requestRateLimited, .zoneBusy:
            let pause = error.retryAfterSeconds.map { " in \(Int($0.rounded(.up))) seconds" } ?? " in a moment"
            return PanelProblem(reason: "The cloud is busy.", remedy: "Try again\(pause).")
        case .notAuthenticated, .accountTemporarilyUnavailable:
            return PanelProblem(
                reason: "You are not signed in on this device.", remedy: "Sign in with welkin login, and try again.")
        case .permissionFailure:
            return PanelProblem(
                reason: "You may not change this share.",
                remedy: owner.map { "Ask \($0), who owns it." } ?? "Sign in with the account that owns it.")
        case .unknownItem, .zoneNotFound, .userDeletedZone:
            return gone
        case .serverRecordChanged:
            return busy
        case .tooManyParticipants:
            return PanelProblem(
                reason: "A share has at most 100 people.", remedy: "Remove some, or let everyone with the link join.")
        case .quotaExceeded:
            return PanelProblem(
                reason: "The storage of the account is full.", remedy: "Delete something, and try again.")
        case .alreadyShared:
            return PanelProblem(
                reason: "This is part of another share already.", remedy: "Stop that one before you share this.")
        case .participantAlreadyInvited:
            return PanelProblem(reason: "This person is invited already.", remedy: "Send them the link again.")
        case .managedAccountRestricted:
            return PanelProblem(
                reason: "Your account may not share.", remedy: "Ask the operator of the cloud.")
        default:
            return other(error)
        }
    }

    private static func other(_ error: CKError) -> PanelProblem {
        let remedy = (error as NSError).localizedRecoverySuggestion
        return PanelProblem(reason: error.localizedDescription, remedy: remedy ?? "Nothing was changed.")
    }
}
