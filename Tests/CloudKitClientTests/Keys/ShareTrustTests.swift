import CloudKitEncryption
import CloudKitModel
import ScriptedCloud
import Testing

@testable import CloudKitClient

/// The share keys that a device accepts from a cloud, and its own maintenance of them.
@Suite(.timeLimit(.minutes(20))) struct ShareTrustTests {
    private let owner = AccountSecret()
    private let bob = AccountSecret()
    private let mallory = AccountSecret()
    private let place = ZoneAddress(
        container: "iCloud.com.example.app", environment: "development", owner: "_me", zone: "Z")
    private var share: RecordAddress { RecordAddress(zone: place, name: "S") }
    private var root: ContainerRoot { owner.root(container: place.container, environment: place.environment) }
    private var access: ShareKeyAccess { ShareKeyAccess(root: root, secret: owner, user: "_me") }

    /// The keys of a device that has found the owner in the cloud's directory.
    private func ring(of secret: AccountSecret) throws -> KeyRing {
        let ring = KeyRing(account: ScriptedAccount(secret: secret), place: nil, epochs: EpochStore())
        try ring.pin(owner.identity().publicIdentity, of: IdentityPins.name(of: "_me", in: place))
        return ring
    }

    @Test func `B-TM-08 an owner who was not found in the directory is not believed`() throws {
        let cat = AccountSecret()
        let cats = ShareKeyAccess(
            root: cat.root(container: place.container, environment: place.environment), secret: cat, user: "_cat")
        let forged = try SealedShareInvitation(
            ShareKey(madeFor: share, epoch: 1), to: "p-cat", identity: cat.identity().publicIdentity, by: "_me",
            with: mallory.identity())
        let stranger = KeyRing(account: ScriptedAccount(secret: cat), place: nil, epochs: EpochStore())
        #expect(
            throws: CallFailure.waitingForKey(
                "The identity of the owner of share 'S' is not in the cloud's directory yet")
        ) { try stranger.open(forged, slot: "p-cat", as: cats) }
        #expect(throws: CallFailure.self) { try ring(of: cat).open(forged, slot: "p-cat", as: cats) }
    }

    private func record(_ epochs: [ShareKeyEpoch], newest: Int) -> Record {
        var record = Record.stored("S", in: ZoneID(zoneName: "Z"), type: "cloudkit.share")
        var sharing = Share(root: "R")
        sharing.participants = [
            ShareParticipant(id: "p-me", role: .owner, permission: .readWrite, acceptance: .accepted)
        ]
        sharing.currentParticipantID = "p-me"
        sharing.keys = ShareKeys(epoch: newest, epochs: epochs)
        record.sharing = sharing
        return record
    }

    private func open(_ record: Record, _ keys: inout SharedKeys) throws {
        let ring = try ring(of: owner)
        let access = access
        try keys.open(
            record, as: access, link: nil, isOwner: { ring.isOwner($0, of: place) },
            trust: { invitation, slot throws(CallFailure) in
                try ring.open(invitation, slot: slot, as: access)
            })
    }

    @Test func `B-TM-08 the owner derives the key, independently of the cloud's invitation`() throws {
        // Bob's right comes from a user whom the cloud calls the owner.
        let identity = try bob.identity()
        let toBob = try SealedShareInvitation(
            root.shareKey(of: share, epoch: 1), to: "p-bob", identity: identity.publicIdentity, by: "_me",
            with: mallory.identity(), administrator: true)
        let key = ShareKey(madeFor: share, epoch: 2)
        let wrap = try SealedShareInvitation(
            key, to: "p-me", identity: owner.identity().publicIdentity, by: "_bob", with: identity,
            authority: toBob.authority(for: identity.publicIdentity))
        var keys = SharedKeys(place)
        try open(record([ShareKeyEpoch(epoch: 2, wrap: wrap.bytes)], newest: 2), &keys)
        // It says that an administrator began the epoch: nothing is sealed until the owner has begun another one.
        #expect(keys.newestKey(of: "S") == nil)
        #expect(keys.authorities.isEmpty)
        try open(record([ShareKeyEpoch(epoch: 3), ShareKeyEpoch(epoch: 2, wrap: wrap.bytes)], newest: 3), &keys)
        #expect(keys.newestKey(of: "S") == root.shareKey(of: share, epoch: 3))
        // Opened separately it is refused: the account's own identity does not depend on the cloud.
        #expect(throws: CallFailure.self) { try ring(of: owner).open(wrap, slot: "p-me", as: access) }
    }

    @Test func `B-TM-05 a share's epoch does not go back, on a running device and after a restart`() throws {
        var keys = SharedKeys(place)
        try open(record([ShareKeyEpoch(epoch: 2)], newest: 2), &keys)
        #expect(throws: CallFailure.self) { try open(record([ShareKeyEpoch(epoch: 1)], newest: 1), &keys) }
        #expect(keys.newestKey(of: "S")?.epoch == 2)
        // Nor when the cloud says in between that the share had ended.
        keys.learnAbsence(of: "S")
        #expect(keys.newestKey(of: "S") == nil)
        #expect(throws: CallFailure.self) { try open(record([ShareKeyEpoch(epoch: 1)], newest: 1), &keys) }
        #expect(keys.newestKey(of: "S") == nil)
        let ring = try ring(of: owner)
        try ring.see(2, of: share, isOwn: true)
        try ring.see(2, of: share, isOwn: true)
        #expect(throws: CallFailure.self) { try ring.see(1, of: share, isOwn: true) }
        try ring.see(3, of: share, isOwn: true)
    }

    @Test func `B-TM-14 the version of a share follows the epoch, then the number of its statement`() throws {
        func number(_ epoch: UInt32, _ counter: UInt64) throws -> UInt64 {
            let statement = try SealedShareStatement(
                ShareStatement(of: share, root: "R"), counter: counter, under: root.shareKey(of: share, epoch: epoch),
                by: "_me", with: owner.identity())
            return StatedVersion(statement).number
        }
        #expect(try number(1, 1) == 0x100_0001)
        #expect(try number(1, 1) < number(1, 2))
        #expect(try number(1, 400) < number(2, 1))
        // Six bytes are all that a state of a zone has for it.
        #expect(try number(.max, .max) == 0xFFFF_FFFF_FFFF)
    }

    @Test
    func `B-TM-05 an epoch of an administrator removed by the owner is not accepted by others or the owner`()
        throws
    {
        let bobs = try bob.identity()
        let cat = AccountSecret()
        let toBob = try SealedShareInvitation(
            root.shareKey(of: share, epoch: 2), to: "p-bob", identity: bobs.publicIdentity, by: "_me",
            with: owner.identity(), administrator: true)
        let authority = toBob.authority(for: bobs.publicIdentity)
        func byBob(_ epoch: UInt32, to slot: String, _ secret: AccountSecret) throws
            -> SealedShareInvitation
        {
            try .init(
                ShareKey(madeFor: share, epoch: epoch), to: slot, identity: secret.identity().publicIdentity,
                by: "_bob", with: bobs, authority: authority)
        }
        let cats = ShareKeyAccess(
            root: cat.root(container: place.container, environment: place.environment), secret: cat, user: "_cat")
        let catsRing = try ring(of: cat)
        // As long as Bob has the right, Cat and the owner believe in his epoch.
        #expect(try catsRing.open(byBob(3, to: "p-cat", cat), slot: "p-cat", as: cats).epoch == 3)
        let ownersRing = try ring(of: owner)
        try ownersRing.see(2, of: share, isOwn: true)
        #expect(try ownersRing.open(byBob(3, to: "p-me", owner), slot: "p-me", as: access).epoch == 3)
        // The owner begins one, without Bob: his right has ended.
        let toCat = try SealedShareInvitation(
            root.shareKey(of: share, epoch: 4), to: "p-cat", identity: cat.identity().publicIdentity, by: "_me",
            with: owner.identity())
        #expect(try catsRing.open(toCat, slot: "p-cat", as: cats).epoch == 4)
        try ownersRing.see(4, of: share, isOwn: true)
        #expect(throws: CallFailure.self) { try catsRing.open(byBob(5, to: "p-cat", cat), slot: "p-cat", as: cats) }
        #expect(throws: CallFailure.self) { try ownersRing.open(byBob(5, to: "p-me", owner), slot: "p-me", as: access) }
    }

    @Test(arguments: ["S", Share.zoneWideName])
    func `B-TM-05 values that a participant seals under an administrator's key open for the owner without it`(
        name: String
    )
        throws
    {
        let share = RecordAddress(zone: place, name: name)
        let bobs = try bob.identity()
        let cat = AccountSecret()
        let toBob = try SealedShareInvitation(
            root.shareKey(of: share, epoch: 1), to: "p-bob", identity: bobs.publicIdentity, by: "_me",
            with: owner.identity(), administrator: true)
        let toCat = try SealedShareInvitation(
            ShareKey(madeFor: share, epoch: 2), to: "p-cat", identity: cat.identity().publicIdentity, by: "_bob",
            with: bobs, authority: toBob.authority(for: bobs.publicIdentity))
        let catsRing = try ring(of: cat)
        let cats = ShareKeyAccess(
            root: cat.root(container: place.container, environment: place.environment), secret: cat, user: "_cat")
        var shared = SharedKeys(place)
        var shown = record([ShareKeyEpoch(epoch: 2, wrap: toCat.bytes)], newest: 2)
        shown.id.recordName = name
        shown.sharing?.participants.append(
            ShareParticipant(id: "p-cat", role: .privateUser, permission: .readWrite, acceptance: .accepted))
        shown.sharing?.currentParticipantID = "p-cat"
        try shared.open(
            shown, as: cats, link: nil, isOwner: { catsRing.isOwner($0, of: place) },
            trust: { invitation, slot throws(CallFailure) in try catsRing.open(invitation, slot: slot, as: cats) })
        var keys = ZoneKeys(cats, place: place, epoch: 1, shared: shared)
        if name == "S" { keys.trees = ["note": name] }
        let sealing = try keys.cipher(sealing: "note", recordType: "Note", parent: nil, isMoved: true, held: nil)
        let field = try sealing.seal(Field(name: "secret", type: .string, json: Array("\"s\"".utf8)))

        // The share has ended; all that the owner has is the record.
        var note = Record.stored("note", in: ZoneID(zoneName: "Z"), type: "Note")
        note.fields = [field]
        note.protection = sealing.protection
        var adas = ZoneKeys(access, place: place, epoch: 5, shared: SharedKeys(place))
        adas.learn([note])
        #expect(try adas.cipher(opening: note).open(field).json == Array("\"s\"".utf8))
        // Another user who has the record does not open it.
        var others = ZoneKeys(
            ShareKeyAccess(root: cats.root, secret: mallory, user: "_other"), place: place, epoch: 5,
            shared: SharedKeys(place))
        others.learn([note])
        #expect(throws: EncryptionError.self) { try others.cipher(opening: note) }
    }

    @Test func `B-TM-05, B-TM-06 the key maintenance that a share needs`() throws {
        func maintenance(_ role: ParticipantRole, _ change: (inout Share) -> Void = { _ in }) -> ShareKeyMaintenance? {
            var sharing = Share(root: "R")
            sharing.participants = [
                ShareParticipant(id: "o", role: .owner, permission: .readWrite, acceptance: .accepted),
                ShareParticipant(
                    id: "a", role: role == .owner ? .administrator : role, permission: .readWrite,
                    acceptance: .accepted, keyEpoch: 3),
            ]
            sharing.participants[1].grantEpoch = 3
            sharing.currentParticipantID = role == .owner ? "o" : "a"
            sharing.keys = ShareKeys(epoch: 3, epochs: [ShareKeyEpoch(epoch: 3)])
            change(&sharing)
            let user = role == .owner ? "_me" : "_a"
            let zone = ZoneKeys(
                ShareKeyAccess(root: root, secret: owner, user: user), place: place, epoch: 2, shared: SharedKeys(place)
            )
            return ShareKeyMaintenance(sharing, of: share, by: zone)
        }
        for role in [ParticipantRole.owner, .administrator, .privateUser] { #expect(maintenance(role) == nil) }
        let gone: (inout Share) -> Void = { share in share.keys?.needsNewEpoch = true }
        #expect(maintenance(.owner, gone)?.needsKeyRotation == true)
        #expect(maintenance(.administrator, gone)?.needsKeyRotation == true)
        #expect(maintenance(.privateUser, gone) == nil)
        // The link opens each epoch of a public share, and only the owner makes the wrap for it.
        #expect(
            maintenance(.administrator) { share in
                gone(&share)
                share.publicPermission = .readOnly
            } == nil)
        let administrators: (inout Share) -> Void = { share in
            share.keys?.epochs = [ShareKeyEpoch(epoch: 3, wrap: [1])]
        }
        #expect(maintenance(.owner, administrators)?.needsKeyRotation == true)
        #expect(maintenance(.administrator, administrators) == nil)
        let keyless: (inout Share) -> Void = { share in share.keys = nil }
        #expect(maintenance(.owner, keyless)?.needsFirstKey == true)
        #expect(maintenance(.administrator, keyless) == nil)
        let newcomer = ShareParticipant(
            id: "n", role: .privateUser, permission: .readOnly, acceptance: .accepted,
            identity: PersonIdentity(user: UserID("_n"), publicIdentity: [1]))
        let wanting: (inout Share) -> Void = { share in share.participants.append(newcomer) }
        #expect(maintenance(.owner, wanting)?.participantsWithoutKey == [newcomer])
        #expect(maintenance(.administrator, wanting)?.participantsWithoutKey == [newcomer])
        #expect(maintenance(.privateUser, wanting) == nil)
        // A participant with another identity than the one that got the key lacks it, and the key is in wrong hands.
        let bobs = try bob.identity().publicIdentity
        let replaced: (inout Share) -> Void = { share in
            share.participants.append(newcomer)
            share.participants[2].identity.publicIdentity = bobs.bytes
            share.participants[2].keyEpoch = 3
            share.participants[2].keyIdentity = bobs.fingerprint.hex
        }
        #expect(maintenance(.owner, replaced) == nil)
        let reset: (inout Share) -> Void = { share in
            replaced(&share)
            share.participants[2].keyIdentity = String(repeating: "0", count: 64)
        }
        #expect(maintenance(.owner, reset)?.participantsWithoutKey.map(\.id) == ["n"])
        #expect(maintenance(.owner, reset)?.needsKeyRotation == true)
        #expect(maintenance(.administrator, reset)?.participantsWithoutKey.map(\.id) == ["n"])
        // A user whose device got the key from a one-time link needs it for the others.
        let withSlot: (inout Share) -> Void = { share in
            replaced(&share)
            share.participants[2].keyIdentity = nil
        }
        #expect(maintenance(.owner, withSlot)?.participantsWithoutKey.map(\.id) == ["n"])
        #expect(maintenance(.owner, withSlot)?.needsKeyRotation == false)
        // The right to invite is the owner's to give.
        let ungranted: (inout Share) -> Void = { share in
            share.participants[1].grantEpoch = 2
            share.participants[1].identity.user = newcomer.identity.user
            share.participants[1].identity.publicIdentity = bobs.bytes
            share.participants[1].keyIdentity = bobs.fingerprint.hex
        }
        #expect(maintenance(.owner, ungranted)?.participantsWithoutKey.map(\.id) == ["a"])
        #expect(maintenance(.administrator, ungranted) == nil)
    }
}
