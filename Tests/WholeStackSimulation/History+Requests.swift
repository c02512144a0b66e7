import CloudKit
import Foundation

// Users who ask for access to the share that changes.
extension Step {
    /// Asks for access as a guest, or as one who has it.
    func requestAccess() async {
        guard let url = history.sharing?.link else { return }
        do {
            try await app.container.requestShareAccess(for: [url])[url]?.get()
            history.trail.note("\(device.name) asked for access")
        } catch let error as CKError where error.code == .participantAlreadyInvited {
            history.trail.note("\(device.name) is invited already")
        } catch {
            history.expect(error, of: "request", at: place)
        }
    }

    /// Answers a request in a share that is to be saved, or admits a blocked user again.
    ///
    /// - Returns: The rights that this gives and takes; nil: there was nothing to answer.
    func answerRequests(in share: CKShare) async throws -> [String: [SharingLedger.Right: Bool]]? {
        if !share.blockedIdentities.isEmpty {
            history.trail.note("\(device.name) unblocks \(share.blockedIdentities.count)")
            share.unblockIdentities(share.blockedIdentities)
            return [:]
        }
        guard let requester = share.requesters.first,
            let guest = history.sharing?.guests.first(where: {
                requester.userIdentity.lookupInfo?.emailAddress == SimulatedUser(name: $0).email
            })
        else { return nil }
        history.trail.note("\(device.name) answers the request of \(guest)")
        switch chance.number(0..<10) {
        case ..<2:
            share.denyRequesters([requester])
            return [:]
        case ..<4:
            share.blockRequesters([requester])
            return [guest: SharingLedger.loss]
        default:
            let found = try await app.container.shareParticipants(for: [requester.participantLookupInfo])
            guard let participant = try found[requester.participantLookupInfo]?.get() else { return nil }
            return [guest: add(participant, mayWrite: chance.percent(60), to: share)]
        }
    }
}
