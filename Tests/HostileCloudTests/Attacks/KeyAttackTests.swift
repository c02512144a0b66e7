import CloudKitClient
import CloudKitEncryption
import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitEncryption

/// Keys of shares, and the identities to which they are sealed.
@Suite(.timeLimit(.minutes(20))) struct KeyAttackTests {
    @Test(arguments: Attack.of(.keys))
    func `B-TM-06 a cloud that exchanges keys and identities`(_ attack: Attack) async throws {
        try await Stage.check(attack) { stage in try await stage.playKeys() }
    }
}

extension Stage {
    fileprivate func playKeys() async throws {
        try await makeFolder()
        switch attack {
        case .participantSubstituted: try await playSubstitutedParticipant()
        case .ownerSubstituted: try await playSubstitutedOwner()
        default: try await playExchangedKeys()
        }
    }

    /// At the invitation, the cloud shows the ghost's keys for the address.
    private func playSubstitutedParticipant() async throws {
        let ghost = try await ghost()
        let ben = try await device("ben")
        let (identity, name) = (try ghost.publicIdentity, try ben.userName)
        try await lie { exchange in
            guard exchange.person == "ada" else { return }
            exchange.change { answer in
                answer.mutateObjects { person in
                    if person["userRecordName"]?.text == name, person["publicIdentity"] != nil {
                        person["publicIdentity"] = identity
                    }
                }
            }
        } during: {
            try await share(with: ["ben"])
        }
        try await write("secret text after the lie", to: "One", try await device("ada").own)
    }

    /// A member meets the owner for the first time, and the cloud shows the ghost's keys for her.
    private func playSubstitutedOwner() async throws {
        let ghost = try await ghost()
        let ada = try await device("ada")
        let ben = try await device("ben")
        let owner = try ada.userName
        let bens = try ben.secret.identity().publicIdentity
        let zone = ZoneAddress(
            container: HostileCloud.container, environment: "development", owner: owner, zone: Self.zone.zoneName)
        let identity = try ghost.publicIdentity
        let saved = try await share(inviting: ["ben"])
        let share = RecordAddress(zone: zone, name: saved.recordID.recordName)
        let key = ShareKey(madeFor: share, epoch: 1)
        ghostKeys = [key]
        try await lie { exchange in
            guard exchange.person == "ben" else { return }
            exchange.change { answer in
                answer.mutateObjects { object in
                    if object["userRecordName"]?.text == owner, object["publicIdentity"] != nil {
                        object["publicIdentity"] = identity
                    }
                }
                answer.mutateRecord(share.name) { record in
                    guard let slot = record["currentUserParticipant", "participantId"]?.text,
                        let invitation = try? SealedShareInvitation(
                            key, to: slot, identity: bens, by: owner, with: try ghost.identity),
                        let statement = try? Self.forgedStatement(key, by: owner, ghost, slot: slot, bens)
                    else { return }
                    Attack.editEpochs(&record) { epoch in
                        epoch["wrap"] = JSON(base64: invitation.bytes)
                        epoch["blob"] = nil
                        epoch["statement"] = JSON(base64: statement.bytes)
                    }
                }
            }
        } during: {
            try await accept(saved.url, on: ben)
            let note = Self.note("Ben's", in: try await theirs())
            _ = try await ben.shared.save(note)
        }
    }

    /// A statement of the ghost's in the owner's name.
    private static func forgedStatement(
        _ key: ShareKey, by owner: String, _ ghost: Ghost, slot: String, _ member: PublicIdentity
    ) throws -> SealedShareStatement {
        var statement = ShareStatement(of: key.place, root: "Folder")
        statement.set(
            ShareStatement.Participant(
                id: slot, isAdministrator: false, permission: .readWrite, subject: nil, identity: member.fingerprint))
        return try SealedShareStatement(statement, counter: 1, under: key, by: owner, with: ghost.identity)
    }

    private func playExchangedKeys() async throws {
        let ada = try await device("ada")
        let share = try await share(with: ["ben", "cat"])
        let other = try await otherShare()
        let (name, theirs) = (share.recordID.recordName, try await theirs())
        let ben = try await device("ben")
        let cat = try await device("cat")
        let newest = { self.liar.versions(of: $0, in: "shared", person: $1).last }
        _ = try await ben.shared.record(for: Self.id(name, theirs))
        let older = try #require(newest(name, "ben"))
        // The second epoch of both shares: what is shown in another's place differs in nothing but its place.
        _ = try await device("dan")
        for share in [share.recordID, other] {
            try await add("dan", to: share)
            try await remove("dan", from: share, by: ada.own)
            try await write("secret text of the second epoch", to: "One", in: share.zoneID, ada.own)
        }
        _ = try await cat.shared.record(for: Self.id(name, theirs))
        let otherZone = CKRecordZone.ID(zoneName: other.zoneID.zoneName, ownerName: theirs.ownerName)
        _ = try await ben.shared.record(for: Self.id(other.recordName, otherZone))
        let cats = try #require(newest(name, "cat"))
        let others = try #require(newest(other.recordName, "ben"))
        #expect([older, cats, others].map { KeyFacts.newest($0)?["epoch"]?.int } == [1, 2, 2])
        if attack.needsMemory { try await feed(ben.shared, in: theirs) }
        let victim = attack.needsMemory ? try cloud.restarted(ben) : try await device("ben", "laptop")

        let ghost = try await ghost()
        let zone = ZoneAddress(
            container: HostileCloud.container, environment: "development", owner: try ada.userName,
            zone: Self.zone.zoneName)
        let key = ShareKey(madeFor: RecordAddress(zone: zone, name: name), epoch: 2)
        ghostKeys = [key]
        let facts = KeyFacts(
            older: older, cats: cats, others: others,
            forged: Forgery(
                key: key, ghost: ghost, owner: zone.owner, member: try ben.secret.identity().publicIdentity))
        let attack = attack
        try await lie { exchange in
            guard exchange.device == victim.name else { return }
            let isKeys = exchange.endpoint == "shares/keys/lookup" && exchange.request.recordName == name
            exchange.change { answer in
                answer.mutateRecord(name) { attack.forge(keys: &$0, facts) }
                guard isKeys else { return }
                var share = JSON.object([])
                share["shareKeys"] = answer
                attack.forge(keys: &share, facts)
                answer = share["shareKeys"] ?? answer
            }
        } during: {
            try await read("secret text of the second epoch", of: "One", in: theirs, victim.shared)
            // Of the first epoch, whose key is in the keyring.
            try await read("secret text of Two", of: "Two", in: theirs, victim.shared)
            let note = Self.note("Ben's", in: theirs)
            _ = try await victim.shared.save(note)
        }
        let again = try await device("ben", "tablet")
        #expect(try await text("One", in: theirs, again.shared) == "secret text of the second epoch")
    }

    private func otherShare() async throws -> CKRecord.ID {
        let zone = CKRecordZone.ID(zoneName: "Other")
        try await makeFolder(zone)
        return try await share(inviting: ["ben", "cat"], in: zone, accepting: true).recordID
    }
}

/// An invitation that the ghost signs.
private struct Forgery: Sendable {
    let key: ShareKey
    let ghost: Ghost
    let owner: String
    let member: PublicIdentity

    func invitation(to slot: String, authority: ShareAuthority? = nil, epoch: Int) throws -> [UInt8] {
        let key = ShareKey(place: key.place, epoch: UInt32(clamping: epoch), material: key.material)
        return try SealedShareInvitation(
            key, to: slot, identity: member, by: authority == nil ? owner : ghost.userName, with: try ghost.identity,
            authority: authority
        ).bytes
    }

    /// A right that the ghost gave to itself.
    func authority(epoch: Int) throws -> ShareAuthority {
        let identity = try ghost.identity
        return ShareAuthority(
            owner: identity.publicIdentity,
            grant: try ShareGrant(
                of: key.place, epoch: UInt32(clamping: epoch), to: identity.publicIdentity, by: identity))
    }
}

/// Shares that the cloud has seen.
private struct KeyFacts: Sendable {
    var older: JSON
    var cats: JSON
    var others: JSON
    var forged: Forgery

    static func newest(_ share: JSON) -> JSON? { share["shareKeys", "epochs"]?.items?.first }
}

extension Attack {
    /// Whether the victim knows the share, its owner and its epochs.
    fileprivate var needsMemory: Bool {
        switch self {
        case .shareEpochLowered, .ownersKeyResetInvented, .invitationForged: true
        default: false
        }
    }

    fileprivate func forge(keys share: inout JSON, _ facts: KeyFacts) {
        let older = KeyFacts.newest(facts.older)
        switch self {
        case .shareEpochLowered: share["shareKeys"] = facts.older["shareKeys"]
        case .shareEpochRaised: share["shareKeys", "keyEpoch"] = 9
        case .invitationOfOtherParticipant:
            Self.editNewest(&share) { $0["wrap"] = KeyFacts.newest(facts.cats)?["wrap"] }
        case .invitationOfOtherShare: Self.editNewest(&share) { $0["wrap"] = KeyFacts.newest(facts.others)?["wrap"] }
        case .invitationOlder: Self.editNewest(&share) { $0["wrap"] = older?["wrap"] }
        case .invitationRemoved:
            Self.editEpochs(&share) { $0["wrap"] = nil }
        case .invitationDamaged:
            Self.editNewest(&share) { epoch in
                guard var bytes = epoch["wrap"]?.base64 else { return }
                bytes[bytes.count - 1] ^= 1
                epoch["wrap"] = JSON(base64: bytes)
            }
        case .invitationForged, .ownersKeyResetInvented:
            let slot = share["currentUserParticipant", "participantId"]?.text ?? ""
            Self.editNewest(&share) { epoch in
                let number = epoch["epoch"]?.int ?? 0
                epoch["wrap"] = (try? facts.forged.invitation(to: slot, epoch: number)).map { JSON(base64: $0) }
                if self == .ownersKeyResetInvented { epoch["blob"] = nil }
            }
            if self == .ownersKeyResetInvented, let identity = try? facts.forged.ghost.publicIdentity {
                share.mutateItems(of: "participants") { participants in
                    for index in participants.indices where participants[index]["type"] == "OWNER" {
                        participants[index]["userIdentity", "publicIdentity"] = identity
                    }
                }
            }
        case .administratorForged:
            let slot = share["currentUserParticipant", "participantId"]?.text ?? ""
            Self.editNewest(&share) { epoch in
                let number = epoch["epoch"]?.int ?? 0
                guard let authority = try? facts.forged.authority(epoch: number) else { return }
                epoch["wrap"] =
                    (try? facts.forged.invitation(to: slot, authority: authority, epoch: number)).map {
                        JSON(base64: $0)
                    }
            }
        case .keyringOlder: Self.editNewest(&share) { $0["blob"] = older?["blob"] }
        case .keyringOfOtherShare: Self.editNewest(&share) { $0["blob"] = KeyFacts.newest(facts.others)?["blob"] }
        case .keyringRemoved: Self.editEpochs(&share) { $0["blob"] = nil }
        case .keyringDamaged:
            Self.editNewest(&share) { epoch in
                guard var bytes = epoch["blob"]?.base64 else { return }
                bytes[bytes.count - 1] ^= 1
                epoch["blob"] = JSON(base64: bytes)
            }
        case .statementOfOtherShare:
            Self.editNewest(&share) { $0["statement"] = KeyFacts.newest(facts.others)?["statement"] }
        case .statementOlder: Self.editNewest(&share) { $0["statement"] = older?["statement"] }
        default: break
        }
    }

    private static func editNewest(_ share: inout JSON, _ change: (inout JSON) -> Void) {
        let newest = share["shareKeys", "keyEpoch"]?.int
        editEpochs(&share) { if $0["epoch"]?.int == newest { change(&$0) } }
    }
}
