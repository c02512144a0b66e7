import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer

/// The change of a share in a request, with all names and links that it may need made beforehand, so that deciding it is a
/// function.
struct IncomingShareChange: Hashable, Sendable {
    var change: ShareChange
    /// For the owner's entry of a share that begins.
    var ownerID: String
    /// For a share whose root has none yet.
    var shortGUID: String
    /// The one-time links of participant slots, by the participant's id.
    var oneTimeGUIDs: [String: String] = [:]

    init(_ change: ShareChange, serverEnvironment: ServerEnvironment) {
        self.change = change
        ownerID = RecordName.random(serverEnvironment)
        shortGUID = serverEnvironment.randomHex(bytes: 16)
        self.change.participants = change.participants.map { participants in
            participants.map { participant in
                var participant = participant
                participant.id = participant.id ?? RecordName.random(serverEnvironment)
                return participant
            }
        }
        for participant in self.change.participants ?? [] where participant.isOneTime {
            if let id = participant.id { oneTimeGUIDs[id] = serverEnvironment.randomHex(bytes: 16) }
        }
    }
}
