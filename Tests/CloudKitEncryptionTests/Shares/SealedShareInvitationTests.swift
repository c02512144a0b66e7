import CloudKitEncryption
import Foundation
import Testing

@Suite(.timeLimit(.minutes(20))) struct SealedShareInvitationTests {
    private let fixtures = Fixtures()
    private let owner: AccountIdentity
    private let bob: AccountIdentity
    private let eve: AccountIdentity
    private let share: RecordAddress
    private let key: ShareKey

    init() throws {
        owner = try fixtures.secret.identity()
        bob = try AccountSecret(random: fixtures.random).identity()
        eve = try AccountSecret(random: fixtures.random).identity()
        share = RecordAddress(zone: fixtures.zoneKey().place, name: "share-1")
        key = ShareKey(madeFor: share, epoch: 3, random: fixtures.random)
    }

    private func invite(administrator: Bool = false) throws -> SealedShareInvitation {
        try SealedShareInvitation(
            key, to: "p-bob", identity: bob.publicIdentity, by: "_ada", with: owner, administrator: administrator)
    }

    private func open(
        _ invitation: SealedShareInvitation, as participant: String = "p-bob", with identity: AccountIdentity? = nil,
        pins: IdentityPins = IdentityPins(), epochs: HighestSeenEpochs = HighestSeenEpochs()
    ) throws -> ShareKey {
        var pins = pins
        var epochs = epochs
        return try invitation.open(as: participant, with: identity ?? bob, pins: &pins, epochs: &epochs)
    }

    @Test func `B-TM-06 a participant opens the invitation that was sealed to them, and no one else does`() throws {
        let travelled = try SealedShareInvitation(bytes: invite().bytes, share: share)
        #expect(try open(travelled) == key)
        #expect(throws: EncryptionError.doesNotOpen(.invitation(share: "share-1"))) { try open(travelled, with: eve) }
        #expect(throws: EncryptionError.badSignature(.invitation(share: "share-1"))) {
            try open(travelled, as: "p-eve")
        }
        #expect(travelled.bytes.count <= 1024)
        #expect(!ShareLinkSecret.isLinkWrap(travelled.bytes))
    }

    @Test func `B-TM-04 an invitation is good for its own share only`() throws {
        var other = share
        other.name = "share-2"
        let moved = try SealedShareInvitation(bytes: invite().bytes, share: other)
        #expect(throws: EncryptionError.badSignature(.invitation(share: "share-2"))) { try open(moved) }
    }

    @Test func `B-TM-12 every changed or missing byte is an error`() throws {
        let bytes = try invite(administrator: true).bytes
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(throws: EncryptionError.self) { try open(SealedShareInvitation(bytes: changed, share: share)) }
            #expect(throws: EncryptionError.self) {
                try SealedShareInvitation(bytes: Array(bytes[..<index]), share: share)
            }
        }
    }

    @Test func `B-TM-08 an invitation in the name of a user known with other keys is refused`() throws {
        var pins = IdentityPins()
        try pins.check(owner.publicIdentity, of: IdentityPins.name(of: "_ada", in: share.zone))
        let forged = try SealedShareInvitation(
            ShareKey(madeFor: share, epoch: 4), to: "p-bob", identity: bob.publicIdentity, by: "_ada", with: eve)
        let before = pins
        var epochs = HighestSeenEpochs()
        #expect(throws: EncryptionError.self) {
            try forged.open(as: "p-bob", with: bob, pins: &pins, epochs: &epochs)
        }
        #expect(pins == before)
        #expect(epochs == HighestSeenEpochs())
    }

    @Test func `an administrator appointed by the owner invites others, and no one else can`() throws {
        let right = try #require(try invite(administrator: true).authority(for: bob.publicIdentity))
        #expect(try invite().authority(for: bob.publicIdentity) == nil)
        #expect(try invite(administrator: true).authority(for: eve.publicIdentity) == nil)
        func byBob(_ authority: ShareAuthority?, _ inviter: AccountIdentity) throws -> SealedShareInvitation {
            let invitation = try SealedShareInvitation(
                key, to: "p-eve", identity: eve.publicIdentity, by: "_bob", with: inviter, authority: authority)
            return try SealedShareInvitation(bytes: invitation.bytes, share: share)
        }
        let invitation = try byBob(right, bob)
        #expect(try open(invitation, as: "p-eve", with: eve) == key)
        #expect(invitation.bytes.count <= 1024)
        #expect(invitation.authority(for: eve.publicIdentity) == nil)
        #expect(throws: EncryptionError.badSignature(.invitation(share: "share-1"))) {
            try open(byBob(right, eve), as: "p-eve", with: eve)
        }
        #expect(throws: EncryptionError.self) { try byBob(nil, bob) }
        #expect(throws: EncryptionError.self) {
            try SealedShareInvitation(
                key, to: "p-eve", identity: eve.publicIdentity, by: "_bob", with: bob, authority: right,
                administrator: true)
        }
    }

    @Test
    func `B-TM-05 epochs of a share do not go back, and an old administrator's right ends with the owner's epoch`()
        throws
    {
        let right = try #require(try invite(administrator: true).authority(for: bob.publicIdentity))
        var pins = IdentityPins()
        var epochs = HighestSeenEpochs()
        let next = ShareKey(madeFor: share, epoch: 4, random: fixtures.random)
        let toEve = try SealedShareInvitation(next, to: "p-eve", identity: eve.publicIdentity, by: "_ada", with: owner)
        #expect(try toEve.open(as: "p-eve", with: eve, pins: &pins, epochs: &epochs) == next)
        epochs = try JSONDecoder().decode(HighestSeenEpochs.self, from: JSONEncoder().encode(epochs))
        #expect(epochs.epoch(ofShare: share) == 4)
        let old = try SealedShareInvitation(key, to: "p-eve", identity: eve.publicIdentity, by: "_ada", with: owner)
        let item = EncryptionError.Item.invitation(share: "share-1")
        #expect(throws: EncryptionError.epochWentBack(item, offered: 3, seen: 4)) {
            try old.open(as: "p-eve", with: eve, pins: &pins, epochs: &epochs)
        }
        let later = ShareKey(madeFor: share, epoch: 5, random: fixtures.random)
        let byBob = try SealedShareInvitation(
            later, to: "p-eve", identity: eve.publicIdentity, by: "_bob", with: bob, authority: right)
        #expect(throws: EncryptionError.epochWentBack(item, offered: 3, seen: 4)) {
            try byBob.open(as: "p-eve", with: eve, pins: &pins, epochs: &epochs)
        }
        epochs.forget(share: share)
        #expect(try byBob.open(as: "p-eve", with: eve, pins: &pins, epochs: &epochs) == later)
    }

    @Test(arguments: [0, 1, SealedShareInvitation.endedMax, SealedShareInvitation.endedMax + 1])
    func `B-TM-05 an invitation that ends rights ends one to twelve`(count: Int) throws {
        let right = try #require(try invite(administrator: true).authority(for: bob.publicIdentity))
        let identity = eve.publicIdentity.fingerprint
        let bytes = try SealedShareInvitation(
            key, to: "p-eve", identity: eve.publicIdentity, by: "_bob", with: bob, authority: right, ended: [identity]
        ).bytes
        // The number and the identities stand before a flag and the sealed key with its signature.
        let end = bytes.count - (1 + 32 + 48 + 64)
        let start = end - 32
        #expect(bytes[start - 1] == 1)
        var other = Array(bytes[..<(start - 1)])
        other.append(UInt8(count))
        for _ in 0..<count { other += bytes[start..<end] }
        other += bytes[end...]
        let read = try? SealedShareInvitation(bytes: other, share: share)
        #expect((read != nil) == (1...12).contains(count))
        if let read { #expect(read.ended == Array(repeating: identity, count: count)) }
    }

    @Test func `B-TM-05 a right that another administrator has ended is invalid until the owner gives it again`()
        throws
    {
        let carl = try AccountSecret(random: fixtures.random).identity()
        func right(of identity: AccountIdentity, in epoch: UInt32) throws -> ShareAuthority {
            let granting = try SealedShareInvitation(
                ShareKey(madeFor: share, epoch: epoch), to: "p", identity: identity.publicIdentity, by: "_ada",
                with: owner, administrator: true)
            return try #require(granting.authority(for: identity.publicIdentity))
        }
        func invite(
            _ epoch: UInt32, by inviter: AccountIdentity, _ right: ShareAuthority?, ending ended: [AccountIdentity] = []
        ) throws -> SealedShareInvitation {
            let invitation = try SealedShareInvitation(
                ShareKey(madeFor: share, epoch: epoch, random: fixtures.random), to: "p-eve",
                identity: eve.publicIdentity,
                by: right == nil ? "_ada" : inviter.publicIdentity == bob.publicIdentity ? "_bob" : "_carl",
                with: inviter, authority: right, ended: ended.map(\.publicIdentity.fingerprint))
            return try SealedShareInvitation(bytes: invitation.bytes, share: share)
        }
        var pins = IdentityPins()
        var epochs = HighestSeenEpochs()
        func open(_ invitation: SealedShareInvitation) throws {
            _ = try invitation.open(as: "p-eve", with: eve, pins: &pins, epochs: &epochs)
            epochs = try JSONDecoder().decode(HighestSeenEpochs.self, from: JSONEncoder().encode(epochs))
        }
        let (bobs, carls) = (try right(of: bob, in: 3), try right(of: carl, in: 3))
        try open(invite(4, by: carl, carls))
        let ending = try invite(5, by: bob, bobs, ending: [carl])
        #expect(ending.ended == [carl.publicIdentity.fingerprint])
        try open(ending)
        #expect(epochs.endedRights(ofShare: share) == ending.ended)
        let ended = EncryptionError.rightEnded(.invitation(share: "share-1"))
        #expect(throws: ended) { try open(invite(5, by: carl, carls)) }
        #expect(throws: ended) { try open(invite(6, by: carl, carls, ending: [bob])) }
        try open(invite(6, by: bob, bobs))
        // The owner's next epoch makes an end of it, one way or the other.
        try open(invite(7, by: owner, nil))
        #expect(epochs.endedRights(ofShare: share).isEmpty)
        #expect(throws: EncryptionError.self) { try open(invite(8, by: carl, carls)) }
        try open(invite(8, by: carl, right(of: carl, in: 7)))

        let many = try (0...SealedShareInvitation.endedMax).map { _ in
            try AccountSecret(random: fixtures.random).identity()
        }
        #expect(try invite(9, by: bob, bobs, ending: Array(many.dropLast())).bytes.count <= 1024)
        #expect(throws: EncryptionError.self) { try invite(9, by: bob, bobs, ending: many) }
        #expect(throws: EncryptionError.self) { try invite(9, by: owner, nil, ending: [carl]) }
        let bytes = ending.bytes
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            var (pins, epochs) = (IdentityPins(), HighestSeenEpochs())
            #expect(throws: EncryptionError.self) {
                try SealedShareInvitation(bytes: changed, share: share).open(
                    as: "p-eve", with: eve, pins: &pins, epochs: &epochs)
            }
            #expect(throws: EncryptionError.self) {
                try SealedShareInvitation(bytes: Array(bytes[..<index]), share: share)
            }
        }
    }

    @Test func `B-TM-05 an administrator's device ends the rights of former administrators that it knew`() throws {
        let (bobs, eves) = (bob.publicIdentity.fingerprint, eve.publicIdentity.fingerprint)
        var epochs = HighestSeenEpochs()
        epochs.endRights(ofShare: share, except: [])
        #expect(epochs == HighestSeenEpochs())
        epochs.note(administrators: [bobs, eves], ofShare: share)
        epochs.note(administrators: [bobs], ofShare: share)
        epochs.endRights(ofShare: share, except: [bobs, eves])
        #expect(epochs.endedRights(ofShare: share).isEmpty)
        epochs.endRights(ofShare: share, except: [bobs])
        #expect(epochs.endedRights(ofShare: share) == [eves])
        // A user who is an administrator again has to wait for the owner.
        epochs.note(administrators: [bobs, eves], ofShare: share)
        #expect(epochs.endedRights(ofShare: share) == [eves])
        try epochs.began(2, ofShare: share)
        #expect(epochs.endedRights(ofShare: share).isEmpty)
    }
}
