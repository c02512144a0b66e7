import CloudKit
import Foundation

/// What users have tried to change about the members of a share, with its outcome as far as they know it.
final class SharingLedger: Sendable {
    /// A right that a change gives or takes.
    enum Right: Hashable, CaseIterable {
        /// The share names the user.
        case isParticipant
        /// The user has accepted.
        case hasAccepted
        /// The share allows the user to write.
        case mayWrite
        /// The user is an administrator of the share.
        case isAdministrator
    }

    /// What a user loses who leaves or is removed.
    static let loss: [Right: Bool] = [.isParticipant: false, .hasAccepted: false, .isAdministrator: false]

    /// One attempt to change rights of a user.
    private struct Change {
        var user: String
        var rights: [Right: Bool]
        var start: Int64
        var end: Int64?
        var outcome = Ledger.Outcome.open

        /// The time until which it may take effect.
        var last: Int64 { outcome == .done ? end ?? .max : .max }
    }

    /// The user whose zone it is.
    let owner: String
    /// Whether the zone is shared as a whole.
    let sharesZone: Bool
    /// Whether users join by the link, and nobody is invited.
    let isPublic: Bool
    /// Whether users may ask for access.
    let takesRequests: Bool
    /// Whether the owner moves records out of the shared tree and back.
    let hasMoves: Bool
    /// The users whom the share may name.
    let guests: [String]
    /// The guest who may be an administrator.
    var administrator: String? { guests.first }
    /// The guest who is not invited, but gets one-time links; nil: there is none.
    let oneTimeGuest: String?
    /// The one-time links that the owner made, and whether each allows to write.
    let oneTimeLinks = Shared<[(url: URL, mayWrite: Bool)]>([])
    private let address = Shared<URL?>(nil)
    private let changes: Shared<[Change]>
    private let trail: Trail
    /// What was begun before and acknowledged may be lost.
    private let lostUntil = Shared(Int64.min)

    init(
        owner: String, sharesZone: Bool, isPublic: Bool, takesRequests: Bool, hasMoves: Bool, guests: [String],
        oneTimeGuest: String?, trail: Trail
    ) {
        self.trail = trail
        self.owner = owner
        self.oneTimeGuest = oneTimeGuest
        self.takesRequests = takesRequests
        self.hasMoves = hasMoves
        self.isPublic = isPublic
        self.sharesZone = sharesZone
        self.guests = guests
        changes = Shared(
            guests.map { guest in
                Change(
                    user: guest, rights: Dictionary(uniqueKeysWithValues: Right.allCases.map { ($0, false) }),
                    start: -1, end: -1, outcome: .done)
            })
    }

    /// The latest address of the share; nil until it has one.
    var link: URL? { address.value }

    /// Notes the address of the share. One of a share that nobody may join by its link has no secret: who joins by it when everyone may join
    /// again can read nothing.
    func note(_ url: URL?) {
        guard let url, !isPublic || url.fragment != nil else { return }
        address.value = url
    }

    /// Notes the one-time links of a share.
    func note(linksOf share: CKShare) {
        for participant in share.participants where participant.acceptanceStatus == .pending {
            guard let url = share.oneTimeURL(for: participant.participantID), url != share.url,
                !oneTimeLinks.value.contains(where: { $0.url == url })
            else { continue }
            oneTimeLinks.value.append((url, participant.permission == .readWrite))
        }
    }

    /// Whether a record is in the shared tree with what its owner saves.
    static func isShared(_ stamp: Int) -> Bool { !stamp.isMultiple(of: 4) }

    /// The rights that a permission of everyone with the link gives a user, or takes.
    static func rights(_ permission: CKShare.ParticipantPermission) -> [Right: Bool] {
        permission == .none ? loss : [.mayWrite: permission == .readWrite]
    }

    /// Notes the begin of an attempt.
    func begin(_ rights: [Right: Bool], of user: String, at time: Int64) -> Int {
        changes.value.append(Change(user: user, rights: rights, start: time))
        let number = changes.value.count - 1
        let values = rights.map { "\($0) \($1)" }.sorted().joined(separator: ", ")
        trail.note("change \(number) of \(user): \(values)")
        return number
    }

    func end(_ number: Int, _ outcome: Ledger.Outcome, at time: Int64) {
        let isLost = outcome == .done && changes.value[number].start < lostUntil.value
        changes.value[number].outcome = isLost ? .unknown : outcome
        changes.value[number].end = time
        trail.note("change \(number) \(outcome)")
    }

    /// Notes that the cloud was restored: what was acknowledged until then may be lost.
    func restored(at time: Int64) {
        lostUntil.value = time
        for number in changes.value.indices
        where changes.value[number].outcome == .done && changes.value[number].start >= 0 {
            changes.value[number].outcome = .unknown
        }
    }

    /// Whether a user's right can be like this when nothing is under way: an attempt left it so that no acknowledged one followed.
    func isPossible(_ right: Right, _ value: Bool, of user: String) -> Bool {
        let own = changes.value.filter { $0.user == user && $0.rights[right] != nil && $0.outcome != .refused }
        return own.contains { writer in
            writer.rights[right] == value
                && !own.contains { $0.outcome == .done && $0.rights[right] != value && $0.start > writer.last }
        }
    }

    /// Whether a user cannot have had a right at any moment of a time.
    func wasImpossible(_ right: Right, of user: String, from start: Int64, to end: Int64) -> Bool {
        let own = changes.value.filter { $0.user == user && $0.rights[right] != nil && $0.outcome != .refused }
        return own.contains { loss in
            loss.outcome == .done && loss.rights[right] == false && loss.last < start
                && !own.contains { $0.rights[right] == true && $0.last > loss.start && $0.start < end }
        }
    }
}
