import CloudKitEncryption
import Foundation
import Testing

@testable import CloudKit
@testable import CloudKitClient
@testable import CloudKitEncryption

/// Shares, participants and permissions that no device of their owner made.
@Suite(.timeLimit(.minutes(20))) struct ShareAttackTests {
    @Test(arguments: Attack.of(.shares))
    func `B-TM-05 a cloud that invents shares, participants and permissions`(_ attack: Attack) async throws {
        try await Stage.check(attack) { stage in try await stage.playShares() }
    }
}

extension Stage {
    fileprivate func playShares() async throws {
        try await makeFolder()
        let ada = try await device("ada")
        switch attack {
        case .inventedZoneShare, .inventedRecordShare:
            try await playInventedShare(ada)
        case .ghostJoinsByLink:
            let share = try await share(open: .readWrite)
            try await playGhostOfLink(share, ada)
        case .removalHidden:
            try await playHiddenRemoval(ada)
        case .statementForgedByMember:
            try await playForgedStatement(ada)
        case .linkProofCopied:
            try await playCopiedProof(ada)
        default:
            try await playChangedShare(ada)
        }
    }

    private func playInventedShare(_ ada: Device) async throws {
        try await feed(ada.own)
        let folder = try #require(liar.versions(of: "Folder").last)
        let ghost = try await ghost()
        let name = attack == .inventedZoneShare ? "cloudkit.zoneshare" : "Share-1"
        let share = try inventedShare(named: name, like: folder, ghost: ghost, owner: try ada.userName)
        let isWhole = attack == .inventedZoneShare
        try await lie { exchange in
            guard exchange.database == "private" else { return }
            let (endpoint, texts) = (exchange.endpoint, exchange.request.texts)
            exchange.change { answer in
                if !isWhole {
                    answer.mutateRecord("Folder") {
                        $0["share"] = ["recordName": .string(name), "zoneID": $0["zoneID"] ?? .null]
                    }
                }
                if endpoint == "changes/zone" {
                    answer.mutateObjects { zone in
                        if zone["records"] != nil { zone.mutateItems(of: "records") { $0.append(share) } }
                    }
                }
                if endpoint == "records/lookup", texts.contains(name) {
                    answer.mutateItems(of: "records") { records in
                        records = records.map { $0.recordName == name ? share : $0 }
                    }
                }
            }
        } during: {
            try await feed(ada.own)
        }
        // Values that are written after the lie as well.
        try await write("secret text after the lie", to: "One", ada.own)
    }

    private func inventedShare(named name: String, like folder: JSON, ghost: Ghost, owner: String) throws -> JSON {
        let ownIdentity: JSON = ["userRecordName": .string(owner), "hasiCloudAccount": true]
        let owner: JSON = [
            "participantId": "owner", "type": "OWNER", "permission": "READ_WRITE", "acceptanceStatus": "ACCEPTED",
            "userIdentity": ownIdentity,
        ]
        var share: JSON = [
            "recordName": .string(name), "recordType": "cloudkit.share", "fields": [:], "pluginFields": [:],
            "recordChangeTag": "z1", "created": folder["created"] ?? .null, "modified": folder["modified"] ?? .null,
            "deleted": false, "zoneID": folder["zoneID"] ?? .null, "shortGUID": "0123456789abcdefghijklmn",
            "publicPermission": "NONE", "participants": [owner, try ghost.participant()], "owner": owner,
            "currentUserParticipant": owner,
        ]
        if name != "cloudkit.zoneshare" { share["rootRecordName"] = "Folder" }
        return share
    }

    /// A ghost takes part through a link whose secret it does not have; the cloud lets it in.
    private func playGhostOfLink(_ share: CKShare, _ ada: Device) async throws {
        let ghost = try await device("ghost")
        let bare = try #require(
            share.url?.absoluteString.split(separator: "#").first.flatMap { URL(string: String($0)) })
        // No answer is changed: the cloud lets the ghost in, which does not have the link's secret.
        try await lie { _ in
        } during: {
            if !isHonest {
                try await accept(bare, on: ghost)
                noteLie()
            }
            _ = try await ada.own.record(for: share.recordID)
            try await feed(ada.own)
        }
        try await write("secret text after the lie", to: "One", ada.own)
    }

    /// Another device of the owner is shown the share as it was before a removal.
    private func playHiddenRemoval(_ ada: Device) async throws {
        let share = try await share(with: ["ben", "cat"])
        let laptop = try await device("ada", "laptop")
        try await feed(laptop.own)
        let ben = try await device("ben")
        try await feed(ben.shared, in: try await theirs())
        let older = try #require(liar.versions(of: share.recordID.recordName).last)
        try await feed(ada.own)
        try await remove("ben", from: share.recordID, by: ada.own)
        // With what the phone did, for the account's other devices.
        try await feed(ada.own)
        _ = try await laptop.own.recordZone(for: Self.zone)
        try await lie { exchange in
            if exchange.device == laptop.name { exchange.show(older) }
        } during: {
            _ = try await laptop.own.record(for: share.recordID)
            try await write("secret text after the removal", to: "One", laptop.own)
            try await feed(laptop.own)
        }
        try await write("secret text after the lie", to: "Two", laptop.own)
        if isHonest { try await check(ben, opensNothingWith: "after the") }
    }

    /// A member, who has the share's key, and the cloud add a ghost to a statement.
    private func playForgedStatement(_ ada: Device) async throws {
        let saved = try await share(with: ["ben", "cat"])
        let (ben, cat, name) = (try await device("ben"), try await device("cat"), saved.recordID.recordName)
        let theirs = try await theirs()
        try await feed(ben.shared, in: theirs)
        try await feed(cat.shared, in: theirs)
        let key = try #require(try await ben.shared.requests().zoneKeys(theirs.model).shared.newestKey(of: name))
        let ghost = try await ghost()
        var statement = ShareStatement(of: key.place, root: "Folder")
        statement.set(
            ShareStatement.Participant(
                id: "ghost", isAdministrator: false, permission: .readWrite,
                subject: .init(.user, ghost.userName, of: key.place),
                identity: try ghost.identity.publicIdentity.fingerprint))
        let forged = try SealedShareStatement(
            statement, counter: 99, under: key, by: try ada.userName, with: try ben.secret.identity())
        let participant = try ghost.participant()
        for (victim, database, zone) in [(ada, ada.own, Self.zone), (cat, cat.shared, theirs)] {
            try await lie { exchange in
                guard exchange.device == victim.name else { return }
                exchange.change { answer in
                    answer.mutateRecord(name) { share in
                        share.mutateItems(of: "participants") { $0.append(participant) }
                        Attack.editEpochs(&share) { $0["statement"] = JSON(base64: forged.bytes) }
                    }
                }
            } during: {
                _ = try await database.record(for: Self.id(name, zone))
            }
        }
        try await write("secret text after the lie", to: "One", ada.own)
    }

    private func playCopiedProof(_ ada: Device) async throws {
        let share = try await share(open: .readWrite)
        let (ben, name) = (try await device("ben"), share.recordID.recordName)
        try await accept(share.url, on: ben)
        let ghost = try await ghost().participant()
        let bens = try ben.userName
        try await lie { exchange in
            guard exchange.person == "ada" else { return }
            exchange.change { answer in
                answer.mutateRecord(name) { share in
                    share.mutateItems(of: "participants") { participants in
                        guard
                            var copy = participants.first(where: { $0["userIdentity", "userRecordName"]?.text == bens })
                        else { return }
                        copy["participantId"] = "ghost"
                        copy["userIdentity"] = ghost["userIdentity"]
                        copy["keyEpoch"] = nil
                        copy["keyIdentity"] = nil
                        participants.append(copy)
                    }
                }
            }
        } during: {
            _ = try await ada.own.record(for: share.recordID)
            try await feed(ada.own)
        }
        try await write("secret text after the lie", to: "One", ada.own)
    }

    private func playChangedShare(_ ada: Device) async throws {
        let share: CKShare
        switch attack {
        case .permissionRaised: share = try await self.share(with: ["ben"], permission: .readOnly)
        case .ghostInFreeSlot: share = try await self.share(with: ["ben"], slots: 1)
        default: share = try await self.share(with: ["ben", "cat"], administrators: ["cat"])
        }
        let (ben, cat) = (try await device("ben"), try await device("cat"))
        let name = share.recordID.recordName
        try await feed(ada.own)
        let older = liar.versions(of: name).first
        let isRollback = attack == .shareRolledBack || attack == .shareRestorationInvented
        if isRollback {
            try await remove("cat", from: share.recordID, by: ada.own)
            try await feed(ada.own)
        }
        let theirs = try await theirs()
        try await feed(ben.shared, in: theirs)
        if !isRollback, attack != .permissionRaised, attack != .ghostInFreeSlot {
            try await feed(cat.shared, in: theirs)
        }
        let (victim, database, zone) =
            switch attack {
            case .ghostShownToMember, .permissionRaised, .permissionLowered: (ben, ben.shared, theirs)
            case .ghostShownToAdministrator: (cat, cat.shared, theirs)
            default: (ada, ada.own, Self.zone)
            }
        let ghost = try await ghost()
        let facts = ShareFacts(
            older: older, ghost: try ghost.participant(), administrator: try ghost.participant(type: "ADMINISTRATOR"),
            identity: try ghost.publicIdentity, ghostName: ghost.userName, ben: try ben.userName)
        let attack = attack
        for isFeed in [false, true] {
            try await lie { exchange in
                guard exchange.device == victim.name else { return }
                if attack == .shareRestorationInvented { exchange.headers["x-welkin-store-epoch"] = "abc;1000" }
                exchange.change { answer in
                    answer.mutateRecord(name) { attack.forge(share: &$0, facts) }
                    if attack == .shareRootChanged {
                        answer.mutateRecord("One") {
                            $0["share"] = ["recordName": .string(name), "zoneID": $0["zoneID"] ?? .null]
                        }
                    }
                }
            } during: {
                if isFeed {
                    try await feed(database, in: zone)
                } else {
                    _ = try await database.record(for: Self.id(name, zone))
                }
            }
        }
        _ = try await database.record(for: Self.id(name, zone))
        try await write("secret text after the lie", to: "One", ada.own)
        _ = try await text("One", in: zone, database)
        #expect(try await text("One", ada.own) == "secret text after the lie")
    }
}

/// Descriptions that the cloud can make of a ghost.
private struct ShareFacts: Sendable {
    var older: JSON?
    var ghost: JSON
    var administrator: JSON
    var identity: JSON
    var ghostName: String
    var ben: String
}

extension Attack {
    fileprivate func forge(share: inout JSON, _ facts: ShareFacts) {
        switch self {
        case .ghostParticipant, .ghostShownToMember, .ghostShownToAdministrator:
            share.mutateItems(of: "participants") { $0.append(facts.ghost) }
        case .ghostAdministrator:
            share.mutateItems(of: "participants") { $0.append(facts.administrator) }
        case .ghostInFreeSlot:
            share.mutateItems(of: "participants") { participants in
                for index in participants.indices where participants[index]["oneTimeShortGUID"] != nil {
                    participants[index]["userIdentity"] = facts.ghost["userIdentity"]
                    participants[index]["acceptanceStatus"] = "ACCEPTED"
                    participants[index]["oneTimeShortGUID"] = nil
                    participants[index]["keyIdentity"] = nil
                }
            }
        case .memberPromoted: Self.edit(&share, facts.ben) { $0["type"] = "ADMINISTRATOR" }
        case .permissionRaised: Self.edit(&share, facts.ben) { $0["permission"] = "READ_WRITE" }
        case .permissionLowered: Self.edit(&share, facts.ben) { $0["permission"] = "READ_ONLY" }
        case .publicPermissionRaised: share["publicPermission"] = "READ_WRITE"
        case .participantHidden:
            share.mutateItems(of: "participants") { participants in
                participants.removeAll { $0["userIdentity", "userRecordName"]?.text == facts.ben }
            }
        case .removalInvented:
            share.mutateItems(of: "participants") { participants in
                participants.removeAll { $0["userIdentity", "userRecordName"]?.text == facts.ben }
            }
            share["shareKeys", "needsNewEpoch"] = true
        case .identitySwapped: Self.edit(&share, facts.ben) { $0["userIdentity", "publicIdentity"] = facts.identity }
        case .personSwapped:
            Self.edit(&share, facts.ben) {
                $0["userIdentity"] = facts.ghost["userIdentity"]
                $0["keyIdentity"] = nil
                $0["keyEpoch"] = nil
            }
        case .shareRolledBack, .shareRestorationInvented: if let older = facts.older { share = older }
        case .shareKeysHidden:
            share["shareKeys"] = nil
            share.mutateItems(of: "participants") { $0.append(facts.ghost) }
        case .shareRootChanged: share["rootRecordName"] = "One"
        case .statementRemoved: Self.editEpochs(&share) { $0["statement"] = nil }
        case .statementDamaged:
            Self.editEpochs(&share) { epoch in
                guard var bytes = epoch["statement"]?.base64 else { return }
                bytes[bytes.count - 1] ^= 1
                epoch["statement"] = JSON(base64: bytes)
            }
        default: break
        }
    }

    private static func edit(_ share: inout JSON, _ user: String, _ change: (inout JSON) -> Void) {
        func edit(_ participant: inout JSON) {
            if participant["userIdentity", "userRecordName"]?.text == user { change(&participant) }
        }
        share.mutateItems(of: "participants") { for index in $0.indices { edit(&$0[index]) } }
        if var own = share["currentUserParticipant"] {
            edit(&own)
            share["currentUserParticipant"] = own
        }
    }

    static func editEpochs(_ share: inout JSON, _ change: (inout JSON) -> Void) {
        guard var keys = share["shareKeys"] else { return }
        keys.mutateItems(of: "epochs") { for index in $0.indices { change(&$0[index]) } }
        share["shareKeys"] = keys
    }
}
