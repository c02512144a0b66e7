import Testing

@testable import CloudKitEncryption

@Suite(.timeLimit(.minutes(20))) struct ShareStatementTests {
    private let fixtures = Fixtures()
    private let share: RecordAddress
    private let key: ShareKey
    private let owner: AccountIdentity

    init() throws {
        share = RecordAddress(zone: fixtures.zoneKey().place, name: "share-1")
        key = ShareKey(madeFor: share, epoch: 3, random: fixtures.random)
        owner = try fixtures.secret.identity()
    }

    private func statement(of share: RecordAddress? = nil, participants: Int = 1) throws -> ShareStatement {
        let share = share ?? self.share
        let identity = owner.publicIdentity.fingerprint
        return ShareStatement(
            of: share, root: "folder", publicPermission: .readOnly,
            participants: (0..<participants).map { number in
                let digits = "\(number)"
                return .init(
                    id: String(repeating: "0", count: 36 - digits.count) + digits, permission: .readWrite,
                    subject: .init(.email, "person\(number)@example.com", of: share), identity: identity)
            }, directoryHead: .init(number: 9, hash: Array(repeating: 1, count: 32)))
    }

    private func sealed(
        _ statement: ShareStatement, _ counter: UInt64, under key: ShareKey? = nil
    ) throws -> SealedShareStatement {
        let key = key ?? self.key
        let made = try SealedShareStatement(
            statement, counter: counter, under: key, by: "_ada", with: owner, random: fixtures.random)
        return try SealedShareStatement(bytes: made.bytes, share: key.place)
    }

    @Test func `B-TM-06 a statement says who takes part, also with the most participants`() throws {
        var (pins, epochs) = (IdentityPins(), HighestSeenEpochs())
        for count in [0, 1, 100] {
            let statement = try statement(participants: count)
            let sealed = try sealed(statement, UInt64(count) + 1)
            #expect(sealed.counter == UInt64(count) + 1 && sealed.epoch == 3)
            #expect(try sealed.open(key, pins: &pins, epochs: &epochs) == statement)
            if count == 100 { #expect((10_500..<11_000).contains(sealed.bytes.count)) }
        }
        #expect(pins.fingerprint(of: IdentityPins.name(of: "_ada", in: share.zone)) == owner.publicIdentity.fingerprint)
        #expect(throws: EncryptionError.tooMany(.shareStatement(share: "share-1"), limit: 100)) {
            try self.sealed(self.statement(participants: 101), 1)
        }
        var double = try statement()
        double.participants += double.participants
        #expect(throws: EncryptionError.self) { try self.sealed(double, 1) }
    }

    @Test func `B-TM-06 an earlier statement and a second one of the same number are refused`() throws {
        var (pins, epochs) = (IdentityPins(), HighestSeenEpochs())
        let (first, second) = (try sealed(statement(), 1), try sealed(statement(participants: 2), 2))
        let fork = try sealed(statement(participants: 3), 2)
        _ = try first.open(key, pins: &pins, epochs: &epochs)
        _ = try second.open(key, pins: &pins, epochs: &epochs)
        _ = try second.open(key, pins: &pins, epochs: &epochs)
        let seen = epochs
        let item = EncryptionError.Item.shareStatement(share: "share-1")
        #expect(throws: EncryptionError.counterWentBack(item, offered: 1, seen: 2)) {
            try first.open(key, pins: &pins, epochs: &epochs)
        }
        #expect(throws: EncryptionError.contradicted(item, reason: "the cloud shows two statements of one number")) {
            try fork.open(key, pins: &pins, epochs: &epochs)
        }
        #expect(epochs == seen)
        // A later epoch counts again from 1, and an earlier one is over.
        let next = ShareKey(madeFor: share, epoch: 4, random: fixtures.random)
        _ = try sealed(statement(), 1, under: next).open(next, pins: &pins, epochs: &epochs)
        #expect(throws: EncryptionError.epochWentBack(item, offered: 3, seen: 4)) {
            try second.open(key, pins: &pins, epochs: &epochs)
        }
    }

    @Test func `B-TM-06 the first statement that is seen is not older than the share's key`() throws {
        var (pins, epochs) = (IdentityPins(), HighestSeenEpochs())
        try epochs.see(4, ofShare: share)
        let old = try sealed(statement(), 1)
        #expect(throws: EncryptionError.epochWentBack(.shareStatement(share: "share-1"), offered: 3, seen: 4)) {
            try old.open(key, pins: &pins, epochs: &epochs)
        }
    }

    @Test func `B-TM-06 a statement counts in its own share, under its own key, by a host`() throws {
        var (pins, epochs) = (IdentityPins(), HighestSeenEpochs())
        let other = RecordAddress(zone: share.zone, name: "share-2")
        let otherKey = ShareKey(madeFor: other, epoch: 3, random: fixtures.random)
        let ofOther = try sealed(statement(of: other), 1, under: otherKey)
        let moved = try SealedShareStatement(bytes: ofOther.bytes, share: share)
        #expect(throws: EncryptionError.doesNotOpen(.shareStatement(share: "share-1"))) {
            try moved.open(key, pins: &pins, epochs: &epochs)
        }
        #expect(throws: EncryptionError.self) { try self.sealed(self.statement(of: other), 1) }
        let later = ShareKey(madeFor: share, epoch: 4, random: fixtures.random)
        #expect(throws: EncryptionError.wrongEpoch(.shareStatement(share: "share-1"), found: 3, expected: 4)) {
            try self.sealed(self.statement(), 1).open(later, pins: &pins, epochs: &epochs)
        }
        let mallory = try AccountSecret(random: fixtures.random).identity()
        #expect(throws: EncryptionError.self) {
            try SealedShareStatement(self.statement(), counter: 1, under: key, by: "_mallory", with: mallory)
        }
        _ = try sealed(statement(), 1).open(key, pins: &pins, epochs: &epochs)
        let forged = try SealedShareStatement(statement(), counter: 2, under: key, by: "_ada", with: mallory)
        #expect(throws: EncryptionError.self) { try forged.open(key, pins: &pins, epochs: &epochs) }
    }

    @Test func `B-TM-06 an administrator's statement counts until the right ends`() throws {
        var (pins, epochs) = (IdentityPins(), HighestSeenEpochs())
        let bob = try AccountSecret(random: fixtures.random).identity()
        let invitation = try SealedShareInvitation(
            key, to: "p-bob", identity: bob.publicIdentity, by: "_ada", with: owner, administrator: true)
        let right = try #require(invitation.authority(for: bob.publicIdentity))
        func byBob(_ counter: UInt64, under key: ShareKey) throws -> SealedShareStatement {
            try SealedShareStatement(
                self.statement(), counter: counter, under: key, by: "_bob", with: bob, authority: right)
        }
        _ = try byBob(1, under: key).open(key, pins: &pins, epochs: &epochs)
        let next = ShareKey(madeFor: share, epoch: 4, random: fixtures.random)
        _ = try byBob(1, under: next).open(next, pins: &pins, epochs: &epochs)
        try epochs.began(5, ofShare: share)
        let fifth = ShareKey(madeFor: share, epoch: 5, random: fixtures.random)
        #expect(throws: EncryptionError.epochWentBack(.shareStatement(share: "share-1"), offered: 3, seen: 5)) {
            try byBob(2, under: fifth).open(fifth, pins: &pins, epochs: &epochs)
        }
    }

    @Test func `B-TM-07 a proof of a link is of one user, identity and share`() throws {
        let link = fixtures.root.linkSecret(of: share, root: nil)
        let identity = owner.publicIdentity.fingerprint
        let proof = link.proof(of: "_ben", identity: identity, share: share)
        #expect(link.isValid(proof, of: "_ben", identity: identity, share: share))
        #expect(!link.isValid(proof, of: "_cat", identity: identity, share: share))
        let other = RecordAddress(zone: share.zone, name: "share-2")
        #expect(!link.isValid(proof, of: "_ben", identity: identity, share: other))
        let another = fixtures.root.linkSecret(of: other, root: nil)
        #expect(!another.isValid(proof, of: "_ben", identity: identity, share: share))
        #expect(!link.isValid([], of: "_ben", identity: identity, share: share))
    }

    @Test func `an identity that the user trusted counts more than one seen first`() throws {
        var pins = IdentityPins()
        try pins.check(owner.publicIdentity, of: "ben")
        #expect(!pins.isConfirmed(owner.publicIdentity.fingerprint, of: "ben"))
        let new = try AccountSecret(random: fixtures.random).identity().publicIdentity
        pins.replace(with: new, of: "ben")
        #expect(pins.isConfirmed(new.fingerprint, of: "ben"))
        #expect(!pins.isConfirmed(owner.publicIdentity.fingerprint, of: "ben"))
    }
}
