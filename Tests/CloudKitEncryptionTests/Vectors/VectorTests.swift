import Foundation
import Testing

@testable import CloudKitEncryption

/// The formats of docs/encryption.md do not change unnoticed.
///
/// `WELKIN_WRITE_VECTORS=1 swift test --filter "makes the vectors"` writes the file again, after an intended change of
/// a format.
@Suite(.timeLimit(.minutes(20))) struct VectorTests {
    @Test func `the code makes the vectors of the file`() throws {
        var book = try VectorMaker().book()
        if ProcessInfo.processInfo.environment["WELKIN_WRITE_VECTORS"] != nil {
            // Values sealed to public keys differ each time, so the existing ones stay.
            let written = try VectorFile.read()
            for (section, made) in [
                ("invitation", try VectorMaker().invitations()), ("ownerWrap", try VectorMaker().ownerWraps()),
                ("keyApproval", try VectorMaker().keyApprovals()),
            ] {
                let known = written[section] ?? []
                book[section] = known + made.filter { new in !known.contains { $0.name == new.name } }
            }
            try VectorFile.write(book)
        }
        let file = try VectorFile.read()
        for section in ["invitation", "ownerWrap", "keyApproval"] { book[section] = file[section] }
        #expect(book.keys == file.keys)
        for (section, vectors) in book {
            #expect(vectors.count == file[section]?.count)
            for (made, written) in zip(vectors, file[section] ?? []) { #expect(made == written, "\(section)") }
        }
    }

    @Test func `B-TM-04 vectors open, and those that were changed or moved do not`() throws {
        let openers: [String: (Vector) throws -> Bool] = [
            "recovery": recovery, "accountSecret": accountSecret, "identity": identity, "field": field,
            "assetKey": assetKey, "statement": statement, "zoneState": zoneState, "asset": asset,
            "protection": protection, "keyring": keyring,
            "link": link, "invitation": invitation, "ownerWrap": ownerWrap, "shareStatement": shareStatement,
            "linkProof": linkProof, "keyApproval": VectorMaker.opens(keyApproval:),
        ]
        let file = try VectorFile.read()
        for (section, opener) in openers {
            let vectors = try #require(file[section])
            #expect(vectors.contains { $0.opens } && vectors.contains { !$0.opens })
            for vector in vectors {
                if vector.opens {
                    #expect(try opener(vector), "\(section): \(vector.name)")
                } else {
                    #expect(throws: (any Error).self, "\(section): \(vector.name)") { try opener(vector) }
                }
            }
        }
    }

    private func zone(_ vector: Vector) throws -> ZoneAddress {
        ZoneAddress(
            container: try vector.text("container"), environment: try vector.text("environment"),
            owner: try vector.text("owner"), zone: try vector.text("zone"))
    }

    private func recovery(_ vector: Vector) throws -> Bool {
        let key = try RecoveryKey(words: vector.text("words"))
        return key == (try RecoveryKey(bytes: vector.bytes("key")))
    }

    private func accountSecret(_ vector: Vector) throws -> Bool {
        let purpose = try #require(WrappingKey.Purpose(rawValue: vector.text("purpose")))
        let key = WrappingKey(purpose: purpose, material: KeyMaterial(try vector.bytes("wrappingKey")))
        let opened = try AccountSecret(sealed: vector.bytes("sealed"), under: key, account: vector.text("account"))
        return opened.bytes == (try vector.bytes("secret"))
    }

    private func identity(_ vector: Vector) throws -> Bool {
        let opened = try PublicIdentity(bytes: vector.bytes("identity"))
        return opened.fingerprint.description == (try vector.text("shown"))
    }

    private func sealer(_ vector: Vector) throws -> RecordSealer {
        let key = RecordKey(
            place: RecordAddress(zone: try zone(vector), name: try vector.text("record")),
            epoch: try vector.number("epoch"),
            origin: .derived, material: KeyMaterial(try vector.bytes("recordKey")))
        return RecordSealer(key, recordType: try vector.text("recordType"))
    }

    private func field(_ vector: Vector) throws -> Bool {
        let sealed = try vector.bytes("sealed")
        let opened = try sealer(vector).open(sealed, field: vector.text("field"), type: vector.text("fieldType"))
        return opened == (try vector.bytes("plain"))
    }

    private func statement(_ vector: Vector) throws -> Bool {
        let parent = try vector.text("parent")
        let statement = try RecordStatement(vector.bytes("statement"))
        let facts = RecordStatement.Facts(
            parent: parent.isEmpty ? nil : parent, creator: try vector.text("creator"),
            created: Int64(try #require(vector.numbers["created"])))
        var values = [RecordStatement.Value(name: "title", tag: RecordSealer.tag(ofSealed: try vector.bytes("title")))]
        if try vector.text("names").contains("photos") {
            values.append(.init(name: "photos", tag: RecordSealer.tag(ofKeys: [try vector.bytes("photo"), []])))
        }
        try statement.check(values)
        try statement.check(facts, sealer: sealer(vector))
        return try statement.version == #require(vector.numbers["version"])
            && statement.previousTag == vector.bytes("previous") && statement.bytes == vector.bytes("statement")
    }

    private func zoneState(_ vector: Vector) throws -> Bool {
        let zone = try zone(vector)
        let root = try AccountSecret(bytes: vector.bytes("secret")).root(
            container: zone.container, environment: zone.environment)
        let key = root.stateKey(of: zone)
        let device = try #require(ZoneStateDevice(text: vector.bytes("device").hex))
        let state = try key.open(
            vector.bytes("sealed"), of: device, number: #require(vector.numbers["number"]),
            incarnation: vector.text("incarnation"))
        let other = try #require(ZoneStateDevice(text: vector.bytes("other").hex))
        let hashes = try ["record", "ended"].map { root.salt(of: zone).number(for: try vector.text($0)) >> 8 }
        return try key.isOwn(device) && state.epoch == vector.number("epoch")
            && state.others[other] ?? 0 == vector.numbers["otherNumber"]
            && state.changes.map(\.record) == Array(hashes.prefix(state.changes.count))
            && state.changes.first?.version ?? 0 == vector.numbers["version"]
            && state.changes.map(\.isDeletion) == Array([false, true].prefix(state.changes.count))
    }

    private func assetKey(_ vector: Vector) throws -> Bool {
        let position = vector.numbers["position"].map(Int.init)
        let opened = try sealer(vector).openAsset(
            vector.bytes("sealed"), field: vector.text("field"), position: position)
        return opened.bytes == (try vector.bytes("assetSecret"))
    }

    private func asset(_ vector: Vector) throws -> Bool {
        guard vector.bytes["sealed"] != nil else { return true }
        let sealed = try vector.bytes("sealed")
        let opener = try AssetOpener(AssetSecret(bytes: vector.bytes("assetSecret")))
        try opener.check(sealedSize: sealed.count)
        var plain: [UInt8] = []
        for index in 0..<opener.layout.chunkCount {
            try opener.open(chunk: index, sealed[opener.layout.sealedRange(ofChunk: index)], into: &plain)
        }
        return plain == VectorMaker.file(plain.count)
    }

    private func protection(_ vector: Vector) throws -> Bool {
        let zone = try zone(vector)
        let record = try vector.text("record")
        let epoch = try vector.number("epoch")
        let other = KeyMaterial(try vector.bytes("openerKey"))
        let otherEpoch = try vector.number("openerEpoch")
        let otherPlace = RecordAddress(zone: zone, name: try vector.text("opener"))
        let protection = try RecordProtection(epoch: epoch, keys: vector.bytes("keys"))
        let opened: RecordKey
        switch try vector.text("kind") {
        case "parent":
            let parent = RecordKey(place: otherPlace, epoch: otherEpoch, origin: .derived, material: other)
            opened = try protection.key(of: record, parent: parent)
        case "share":
            opened = try protection.key(
                of: record, share: ShareKey(place: otherPlace, epoch: otherEpoch, material: other))
        default:
            let place = RecordAddress(zone: zone, name: record)
            let present = RecordKey(place: place, epoch: epoch, origin: .derived, material: other)
            opened = try protection.earlierKey(otherEpoch, key: present)
        }
        let origin = try vector.number("origin")
        return try opened.material.bytes == vector.bytes("key") && UInt32(protection.origin.rawValue) == origin
    }

    private func ownerWrap(_ vector: Vector) throws -> Bool {
        let protection = try RecordProtection(epoch: vector.number("epoch"), keys: vector.bytes("keys"))
        let place = RecordAddress(zone: try zone(vector), name: try vector.text("record"))
        let owner = try AccountSecret(bytes: vector.bytes("ownerSecret")).identity()
        let opened = try protection.key(of: place, owner: owner)
        let origin = try vector.number("origin")
        return try opened.material.bytes == vector.bytes("key") && UInt32(opened.origin.rawValue) == origin
    }

    private func share(_ vector: Vector) throws -> RecordAddress {
        RecordAddress(zone: try zone(vector), name: try vector.text("share"))
    }

    private func keyring(_ vector: Vector) throws -> Bool {
        let ring = try ShareKeyring(bytes: vector.bytes("ring"), share: share(vector))
        let key = ShareKey(
            place: try share(vector), epoch: try vector.number("epoch"),
            material: KeyMaterial(try vector.bytes("shareKey")))
        let opened =
            switch try vector.text("kind") {
            case "earlier": try ring.earlierKeys(key).first?.material
            case "zone": try ring.zoneKeys(key).first?.material
            default: try ring.linkSecret(key)?.material
            }
        return opened?.bytes == (try vector.bytes("key"))
    }

    private func link(_ vector: Vector) throws -> Bool {
        let slot = try vector.text("seat")
        let opened = try ShareLinkSecret(fragment: vector.text("fragment")).open(
            vector.bytes("wrapped"), share: share(vector), participant: slot.isEmpty ? nil : slot)
        return opened.material.bytes == (try vector.bytes("key"))
    }

    private func shareStatement(_ vector: Vector) throws -> Bool {
        let sealed = try SealedShareStatement(bytes: vector.bytes("statement"), share: share(vector))
        let key = ShareKey(
            place: try share(vector), epoch: try vector.number("epoch"),
            material: KeyMaterial(try vector.bytes("shareKey")))
        var pins = IdentityPins()
        let owner = try PublicIdentity(bytes: vector.bytes("ownerIdentity"))
        try pins.check(owner, of: IdentityPins.name(of: vector.text("owner"), in: zone(vector)))
        var epochs = HighestSeenEpochs()
        let opened = try sealed.open(key, pins: &pins, epochs: &epochs)
        let (counter, count) = (try vector.number("counter"), try vector.number("participants"))
        let root = try vector.text("root")
        return sealed.counter == UInt64(counter) && opened.root ?? "" == root
            && opened.participants.count == Int(count)
    }

    private func linkProof(_ vector: Vector) throws -> Bool {
        let link = ShareLinkSecret(KeyMaterial(try vector.bytes("secret")))
        let identity = try PublicIdentity(bytes: vector.bytes("identity"))
        guard
            link.isValid(
                try vector.bytes("proof"), of: try vector.text("user"), identity: identity.fingerprint,
                share: try share(vector))
        else { throw EncryptionError.doesNotOpen(.link) }
        return true
    }

    private func invitation(_ vector: Vector) throws -> Bool {
        let invitation = try SealedShareInvitation(bytes: vector.bytes("invitation"), share: share(vector))
        let identity = try AccountSecret(bytes: vector.bytes("recipientSecret")).identity()
        var pins = IdentityPins()
        let owner = try PublicIdentity(bytes: vector.bytes("ownerIdentity"))
        try pins.check(owner, of: IdentityPins.name(of: vector.text("owner"), in: zone(vector)))
        var epochs = HighestSeenEpochs()
        let opened = try invitation.open(
            as: vector.text("participant"), with: identity, pins: &pins, epochs: &epochs)
        let epoch = try vector.number("epoch")
        return try opened.material.bytes == vector.bytes("key") && opened.epoch == epoch
    }
}
