@testable import CloudKitEncryption

extension VectorMaker {
    /// New invitations on every call; for writing the file.
    func invitations() throws -> [Vector] {
        let owner = try secret.identity()
        let bobSecret = try AccountSecret(bytes: Array(32..<64))
        let bob = try bobSecret.identity()
        let evesSecret = try AccountSecret(bytes: Array(64..<96))
        let eve = try evesSecret.identity()
        let key = ShareKey(place: share, epoch: 9, material: KeyMaterial(Array(repeating: 8, count: 32)))
        func vector(_ name: String, _ invitation: SealedShareInvitation, to slot: String, _ secret: AccountSecret)
            -> Vector
        {
            Vector(
                name,
                texts: [
                    "container": zone.container, "environment": zone.environment, "owner": zone.owner,
                    "zone": zone.zone, "share": share.name, "participant": slot, "inviter": invitation.inviter,
                ], numbers: ["epoch": 9],
                bytes: [
                    "recipientSecret": secret.bytes, "ownerIdentity": owner.publicIdentity.bytes,
                    "key": key.material.bytes, "invitation": invitation.bytes,
                ])
        }
        let plain = vector(
            "by the owner",
            try SealedShareInvitation(key, to: "p-bob", identity: bob.publicIdentity, by: "_ada", with: owner),
            to: "p-bob",
            bobSecret)
        let makesBobAdministrator = try SealedShareInvitation(
            key, to: "p-bob", identity: bob.publicIdentity, by: "_ada", with: owner, administrator: true)
        let authority = makesBobAdministrator.authority(for: bob.publicIdentity)
        let byBob = vector(
            "by an administrator",
            try SealedShareInvitation(
                key, to: "p-eve", identity: eve.publicIdentity, by: "_bob", with: bob, authority: authority),
            to: "p-eve", evesSecret)
        let stolen = try SealedShareInvitation(
            key, to: "p-bob", identity: bob.publicIdentity, by: "_eve", with: eve, authority: authority)
        let impostor = try SealedShareInvitation(
            key, to: "p-bob", identity: bob.publicIdentity, by: "_ada", with: eve)
        let ending = vector(
            "by an administrator who ends the rights of others",
            try SealedShareInvitation(
                key, to: "p-eve", identity: eve.publicIdentity, by: "_bob", with: bob, authority: authority,
                ended: [eve.publicIdentity.fingerprint, owner.publicIdentity.fingerprint]),
            to: "p-eve", evesSecret)
        return [
            plain, vector("makes an administrator", makesBobAdministrator, to: "p-bob", bobSecret), byBob,
            plain.refused("another participant") { $0.texts["participant"] = "p-eve" },
            plain.refused("another account") { $0.bytes["recipientSecret"] = evesSecret.bytes.hex },
            plain.refused("another share") { $0.texts["share"] = "share-2" },
            plain.refused("another zone") { $0.texts["zone"] = "Other" },
            try plain.refused("the epoch was changed") { try $0.flip("invitation", at: 4) },
            try plain.refused("the sealed key was changed") {
                try $0.flip("invitation", at: makesIndex(fromEnd: 70, of: $0))
            },
            plain.refused("cut short") { $0.bytes["invitation"]?.removeLast(2) },
            plain.refused("by somebody else under the owner's name") { $0.bytes["invitation"] = impostor.bytes.hex },
            plain.refused("by somebody with an administrator's right that is not theirs") {
                $0.bytes["invitation"] = stolen.bytes.hex
            },
            ending,
            try ending.refused("another right is ended") {
                // Behind the signatures and the sealed key the last fingerprint ends.
                try $0.flip("invitation", at: makesIndex(fromEnd: 146, of: $0))
            },
        ]
    }

    private func makesIndex(fromEnd distance: Int, of vector: Vector) throws -> Int {
        try vector.bytes("invitation").count - distance
    }
}
